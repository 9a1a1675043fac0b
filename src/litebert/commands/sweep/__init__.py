"""Comparison of many fine-tuning runs. Before: settings and a grid. After: tables and the best trial's recipe."""
