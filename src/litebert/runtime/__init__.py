"""Predictions of exported models with numpy and onnxruntime, without torch. Before: `litebert export`. After: users."""
