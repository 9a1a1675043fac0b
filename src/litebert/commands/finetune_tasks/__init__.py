"""Fine-tuning on several benchmarks. Before: finetune, sweep. After: a table of scores."""
