"""Several processes as one. Before: torchrun. After: the trainer."""
