"""Trained weights for another architecture. Before: a state dict and two configs. After: a model to train."""
