"""Pretraining data: from text files to batches of masked examples. Before: tokenization. After: training."""
