"""Counts of a corpus and of the examples drawn from it. Before: format, sampling. After: commands."""
