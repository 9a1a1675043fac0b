"""Every stage on a small text: tokenizer, corpus, pretraining, fine-tuning. Before: all other commands. After: cli."""
