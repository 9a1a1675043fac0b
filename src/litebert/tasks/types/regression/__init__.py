"""Regression: a number for each text or pair of texts. Before: readers. After: commands."""
