"""Prediction files in the place of models. Before: labelled data. After: evaluate, compare."""
