"""Checkpoints. Before: the trainer. After: a resumed run."""
