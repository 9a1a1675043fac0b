"""The examples of a fine-tuning run. Before: settings. After: the model that starts from them."""
