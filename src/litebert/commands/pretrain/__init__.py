"""Pretraining. Before: a corpus directory. After: a run directory with a model."""
