"""Predictions of several models averaged. Before: types. After: commands."""
