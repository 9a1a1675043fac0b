"""Predictions of exported models with numpy and onnxruntime, without torch. Before: `litebert export`. After: users."""

from litebert.runtime.onnx_predictor import Predictor

__all__ = ["Predictor"]
