"""Token classification: a label for each word. Before: readers. After: commands."""
