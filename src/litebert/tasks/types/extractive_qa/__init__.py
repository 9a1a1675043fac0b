"""Extractive question answering: a span of a context, with or without "no answer". Before: readers. After: commands."""
