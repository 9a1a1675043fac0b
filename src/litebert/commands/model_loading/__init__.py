"""Models of commands that predict, in torch or onnxruntime. Before: finetune, export. After: predict, evaluate."""
