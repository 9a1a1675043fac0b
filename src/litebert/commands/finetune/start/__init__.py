"""The model that a fine-tuning run starts from. Before: settings and examples. After: its training."""
