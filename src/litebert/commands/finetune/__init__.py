"""Fine-tuning. Before: a model directory and labelled rows. After: a run directory with the best model."""
