"""Copies of models for CPUs, with weights in the memory layout of oneDNN. Before: a model. After: inference.

Block weights are reordered once and serve every layer that shares them; query, key and value are one product;
activations and residual sums are computed inside the products; nothing is computed for padding.
"""
