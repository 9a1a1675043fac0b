"""Predictions for the rows of a file. Before: a model directory. After: a file of predictions."""
