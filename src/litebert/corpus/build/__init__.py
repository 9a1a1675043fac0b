"""Text to a corpus directory, in parallel and resumable. Before: readers, dedup. After: format."""
