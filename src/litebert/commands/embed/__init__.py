"""Embeddings of the rows of a file, and search in them. Before: a model. After: vectors, and ranked rows."""
