"""Weights before training. Before: modules just built. After: training."""
