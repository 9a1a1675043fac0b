"""Files to documents. Before: the files of the user. After: dedup, build."""
