"""Kernels for attention, activations and losses. Before: tensors of a layer. After: layers and losses."""
