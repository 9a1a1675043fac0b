"""The steps around an int8 product, each in one pass: rows to 8 bits, and results back. For inference."""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from litebert.model.kernels.native.library import NativeLibrary


def native_quantize_rows(
    library: NativeLibrary, x: Float[Tensor, "*rows width"]
) -> tuple[UInt8[Tensor, "*rows width"], Float[Tensor, "*rows"]]:
    """`x` / scale rounded, plus 128, and the scale of each row: its largest absolute value / 127.

    The scale of a row with a number that is not finite is NaN.
    """
    x = x.contiguous()
    quantized, scales = torch.empty_like(x, dtype=torch.uint8), x.new_empty(x.shape[:-1], dtype=torch.float32)
    library.run("quantize_rows", x.dtype, x, quantized, scales, scales.numel(), x.shape[-1])
    return quantized, scales


def native_rescale_rows(
    library: NativeLibrary,
    products: Float[Tensor, "*rows width"],
    scales: Float[Tensor, "*rows"],
    bias: Float[Tensor, " width"],
    *,
    residual: Float[Tensor, "*rows width"] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*rows width"]:
    """`products` · scale of the row + `bias` + `residual`, in `dtype`; all inputs have 32 bits."""
    results = torch.empty_like(products, dtype=dtype, memory_format=torch.contiguous_format)
    added = None if residual is None else residual.contiguous()
    inputs = products.contiguous(), scales, bias, added
    library.run("rescale_rows", dtype, *inputs, results, scales.numel(), products.shape[-1])
    return results
