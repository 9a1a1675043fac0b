"""Text files and data sets as documents. Before: files of the user. After: dedup, build."""
