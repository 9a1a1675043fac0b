"""A dense layer whose weight is stored in the memory layout of oneDNN.

torch reorders the weight in every call, and computes fp32 products by MKL, which on some AMD processors is slower than
oneDNN.
"""

from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.model.config import Activation
from litebert.model.layers.layer_norm import add_residual

ROWS: Final = 128
"""Number of rows for which oneDNN chooses the layout; the product is correct for any number."""
FUSED: Final[dict[Activation | None, tuple[str, str]]] = {
    None: ("none", ""),
    "gelu": ("gelu", "none"),
    "gelu_new": ("gelu", "tanh"),
    "relu": ("relu", ""),
    "silu": ("swish", ""),
}
"""Name and algorithm of each activation in torch's oneDNN operators."""


class PrepackedLinear:
    """`activation(x Wᵀ + b)` with operands in `dtype`, accumulated in fp32."""

    def __init__(
        self,
        weight: Float[Tensor, "outputs inputs"],
        bias: Float[Tensor, " outputs"] | None,
        *,
        dtype: torch.dtype,
        activation: Activation | None = None,
    ) -> None:
        self.input_dtype = dtype
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(dtype).contiguous(), ROWS)
        self.bias = None if bias is None else bias.detach().to(dtype)
        self.fused = FUSED[activation]

    def __call__(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """The outputs, in `input_dtype`."""
        name, algorithm = self.fused
        return torch.ops.mkldnn._linear_pointwise(x.to(self.input_dtype), self.weight, self.bias, name, [], algorithm)

    def plus(
        self, x: Float[Tensor, "*rows inputs"], residual: Float[Tensor, "*rows outputs"]
    ) -> Float[Tensor, "*rows outputs"]:
        """`residual` + the outputs, in the dtype of `residual`; for layers without activation."""
        x = x.to(self.input_dtype)
        if residual.dtype == self.input_dtype:
            return torch.ops.mkldnn._linear_pointwise.binary(x, residual, self.weight, self.bias, "add")
        return add_residual(residual, self(x))
