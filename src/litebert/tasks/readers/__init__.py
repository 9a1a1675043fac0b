"""Labelled files to examples. Before: the files of the user. After: types."""
