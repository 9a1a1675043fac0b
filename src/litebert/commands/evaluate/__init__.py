"""Scores of a model on held-out text or on labelled files. Before: a model directory. After: a report."""
