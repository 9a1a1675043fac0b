"""Models and prediction files compared on the same examples. Before: finetune, sweep. After: a difference."""
