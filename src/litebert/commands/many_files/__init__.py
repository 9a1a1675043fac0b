"""One command on many files. Before: a pattern of files. After: an output for each file."""
