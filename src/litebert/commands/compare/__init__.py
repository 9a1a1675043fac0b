"""Fine-tuned models and prediction files compared on the same examples. Before: finetune, sweep. After: a difference and its interval."""
