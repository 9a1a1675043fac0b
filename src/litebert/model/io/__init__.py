"""Saved models: specification, tensor names, weight files. Before: a model directory or hub name. After: a model."""
