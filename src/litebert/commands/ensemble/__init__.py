"""Several fine-tuned models averaged. Before: runs of `finetune` or `sweep`. After: scores and prediction files."""
