"""Many fine-tuning runs compared. Before: settings and a grid. After: one table."""
