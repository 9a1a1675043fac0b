"""Training examples drawn from a corpus. Before: format. After: training."""
