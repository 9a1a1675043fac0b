"""Vectors of texts, and search with them. Before: any model. After: `Predictor`, the commands embed and search."""
