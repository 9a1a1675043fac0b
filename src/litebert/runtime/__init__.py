"""Predictions of exported models with numpy and onnxruntime, without torch. Before: `litebert export`. After: your code.

    from litebert.runtime.onnx_predictor import Predictor
"""
