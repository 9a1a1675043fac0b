"""Text to training examples. Before: tokenization. After: training, through batches drawn on reading."""
