"""Removal of duplicate and unsuitable documents. Before: readers. After: build."""
