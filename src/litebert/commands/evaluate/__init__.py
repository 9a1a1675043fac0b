"""Scores of a model on validation text, minimal pairs or labelled files. Before: a model directory. After: a report."""
