"""Models as ONNX graphs. Before: a model directory. After: `litebert.runtime`, onnxruntime, transformers.js."""
