"""Models in files. Before: a model directory or a name on the hub. After: models."""
