"""Optimizers and learning rates. Before: settings. After: the step."""
