"""Callbacks: early stopping, spike and plateau detection, metric logging, progress. Before: the trainer. After: logs."""
