"""A dense layer whose weight is stored in the memory layout of oneDNN, and in fp32 also in that of the compiled kernel.

torch reorders the weight in every call, and computes fp32 products by MKL, which on some AMD processors is slower than
oneDNN. oneDNN has a cost for each call, and compiles a product for each number of rows, so few rows in fp32, such as
those of a single text, are left to the compiled kernel.
"""

from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.model.config import Activation
from litebert.model.kernels.native.dense import native_dense, packed_weight
from litebert.model.kernels.native.library import native_library
from litebert.model.layers.block import ACTIVATIONS
from litebert.model.layers.layer_norm import add_residual

ROWS: Final = 128
"""Number of rows for which oneDNN chooses the layout; the product is correct for any number."""
FEW_ROWS: Final = 96
"""Number of rows up to which the compiled kernel is faster than oneDNN, measured on an AMD EPYC (Zen 3)."""
MOST_ELEMENTS: Final = 2**22
"""Of a weight that is stored in both layouts: 16 MiB."""
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
        weight = weight.detach().to(dtype).contiguous()
        self.input_dtype = dtype
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
        self.bias = None if bias is None else bias.detach().to(dtype)
        self.fused, self.activation = FUSED[activation], activation and ACTIVATIONS[activation]
        self.outputs, self.panels = len(weight), _panels(weight)

    def __call__(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """The outputs, in `input_dtype`."""
        if (outputs := self._few_rows(x)) is not None:
            return self.activation(outputs) if self.activation else outputs
        name, algorithm = self.fused
        return torch.ops.mkldnn._linear_pointwise(x.to(self.input_dtype), self.weight, self.bias, name, [], algorithm)

    def plus(
        self, x: Float[Tensor, "*rows inputs"], residual: Float[Tensor, "*rows outputs"]
    ) -> Float[Tensor, "*rows outputs"]:
        """`residual` + the outputs, in the dtype of `residual`; for layers without activation."""
        if (outputs := self._few_rows(x, residual)) is not None:
            return outputs
        x = x.to(self.input_dtype)
        if residual.dtype == self.input_dtype:
            return torch.ops.mkldnn._linear_pointwise.binary(x, residual, self.weight, self.bias, "add")
        return add_residual(residual, self(x))

    def _few_rows(self, x: Tensor, *residual: Tensor) -> Tensor | None:
        """The outputs before the activation, + `residual`, by the compiled kernel; None where it does not apply."""
        if self.panels is None or x.shape[:-1].numel() > FEW_ROWS:
            return None
        if any(each.dtype != torch.float32 for each in (x, *residual)):
            return None
        library = native_library(x, *residual)
        if library is None:
            return None
        return native_dense(library, x, self.panels, self.bias, *residual, outputs=self.outputs)


def _panels(weight: Float[Tensor, "outputs inputs"]) -> Float[Tensor, "panels inputs width"] | None:
    """The weight for the compiled kernel, if there is one and the weight has not too many elements."""
    library = native_library(weight) if weight.dtype == torch.float32 and weight.numel() <= MOST_ELEMENTS else None
    return None if library is None else packed_weight(library, weight)
