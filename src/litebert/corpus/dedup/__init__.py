"""Documents that stay out of a corpus. Before: readers. After: build."""
