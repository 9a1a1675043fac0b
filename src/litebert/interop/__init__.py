"""Conversion between checkpoint formats. Before: a checkpoint of another library. After: commands."""
