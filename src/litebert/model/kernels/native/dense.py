"""A dense layer for a few rows, such as the tokens of a single text. For inference."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from litebert.model.kernels.native.library import NativeLibrary


def packed_weight(
    library: NativeLibrary, weight: Float[Tensor, "outputs inputs"]
) -> Float[Tensor, "panels inputs width"]:
    """The weight as `native_dense` reads it: outputs in panels, the last one filled up with zeros."""
    width = library.panel_width
    return F.pad(weight, (0, 0, 0, -len(weight) % width)).unflatten(0, (-1, width)).mT.contiguous()


def native_dense(
    library: NativeLibrary,
    x: Float[Tensor, "*rows inputs"],
    packed: Float[Tensor, "panels inputs width"],
    bias: Float[Tensor, " outputs"] | None,
    residual: Float[Tensor, "*rows outputs"] | None = None,
    *,
    outputs: int,
) -> Float[Tensor, "*rows outputs"]:
    """`x Wᵀ + bias + residual`, all in 32 bits; `packed` is `packed_weight` of W, which has `outputs` rows."""
    results = x.new_empty(*x.shape[:-1], outputs)
    added = None if residual is None else residual.contiguous()
    sizes = results.numel() // outputs, x.shape[-1], outputs
    library.run("dense", x.dtype, x.contiguous(), packed, bias, added, results, *sizes)
    return results
