"""The rows of a file, and a result of each, window by window. Before: many_files. After: predict, embed, ensemble."""
