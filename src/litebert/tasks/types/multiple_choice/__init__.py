"""Multiple choice: the best of several options. Before: readers. After: commands."""
