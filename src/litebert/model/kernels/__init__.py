"""How attention and losses are computed. Before: tensors of the layers. After: layers."""
