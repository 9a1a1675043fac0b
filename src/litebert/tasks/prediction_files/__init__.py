"""Prediction files of litebert and of other programs. Before: labelled data. After: predictions that are scored."""
