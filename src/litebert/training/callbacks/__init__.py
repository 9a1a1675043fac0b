"""Callbacks: early stopping, detectors, metric logging, progress. Before: the trainer. After: metrics and logs."""
