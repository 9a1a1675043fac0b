"""Temperatures and thresholds from the development rows. Before: a model in training. After: the saved model."""
