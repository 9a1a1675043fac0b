"""Texts in, answers out, from a model directory. Before: model, tokenization, tasks. After: runs."""
