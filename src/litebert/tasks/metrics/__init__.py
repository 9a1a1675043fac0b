"""Scores of predictions. Before: types. After: commands."""
