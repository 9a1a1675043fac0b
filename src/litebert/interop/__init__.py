"""Other people's formats: transformers and TensorFlow 1. Before: model and tokenization. After: runs."""
