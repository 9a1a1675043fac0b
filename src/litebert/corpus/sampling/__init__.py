"""Training examples drawn from a corpus while it is read. Before: format. After: training."""
