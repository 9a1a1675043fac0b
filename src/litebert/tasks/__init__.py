"""Labelled data: readers, features, metrics. Before: tokenization and model. After: inference and runs."""
