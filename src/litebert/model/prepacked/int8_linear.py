"""A dense layer in int8 arithmetic: weights with one scale per output, activations with one scale per token.

Scales of activations are computed from each token (dynamic quantization), so nothing is calibrated and the outputs of
a text do not depend on the others in its batch. Sources: Zafrir et al. 2019, "Q8BERT" (symmetric weights); Yao et al.
2022, "ZeroQuant" (token-wise activations).
"""

from functools import cache
from typing import Final

import torch
from jaxtyping import Float, Int8, UInt8
from torch import Tensor

from litebert.model.config import Activation
from litebert.model.kernels.native.int8_rows import native_quantize_rows, native_rescale_rows
from litebert.model.kernels.native.library import native_library
from litebert.model.layers.block import ACTIVATIONS
from litebert.model.prepacked.prepacked_linear import ROWS

LARGEST: Final = 127
LARGEST_WITH_SATURATION: Final = 63
"""Of weights on processors without VNNI, which add two products in 16 bits: 2 · 255 · 63 < 2¹⁵."""
ZERO_POINT: Final = 128
"""Activations are unsigned for oneDNN, with this value for 0: on most processors only those products are fast."""
_TINY: Final = 1e-12


class Int8Linear:
    """`activation(x Wᵀ + b)`; the results have `dtype`, and the outputs before the activation are rounded to it."""

    input_dtype: Final = torch.float32
    """What inputs are best computed in; others are read as they are."""

    def __init__(
        self,
        weight: Float[Tensor, "outputs inputs"],
        bias: Float[Tensor, " outputs"] | None,
        *,
        activation: Activation | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        quantized, self.scales = quantize_rows(weight.detach().float(), largest_weight())
        self.weight = torch.ops.onednn.qlinear_prepack(quantized, [ROWS, weight.shape[1]])
        self.zero_points = torch.zeros(len(weight), dtype=torch.int32)
        self.bias = torch.zeros(len(weight)) if bias is None else bias.detach().float().contiguous()
        # The two forms of GELU differ by less than 5e-4, far below the rounding to int8, and the exact form is faster.
        self.activation = activation and ACTIVATIONS["gelu" if activation == "gelu_new" else activation]
        self.dtype = dtype

    def __call__(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """The outputs."""
        outputs = self._outputs(x)
        return self.activation(outputs) if self.activation else outputs

    def _outputs(
        self, x: Float[Tensor, "*rows inputs"], residual: Float[Tensor, "*rows outputs"] | None = None
    ) -> Float[Tensor, "*rows outputs"]:
        """The outputs before the activation, + `residual`."""
        added, shape = () if residual is None else (residual,), (*x.shape[:-1], len(self.bias))
        alike = all(each.dtype == torch.float32 and each.shape == shape for each in added)
        if alike and (library := native_library(x, *added)):
            unsigned, scales = native_quantize_rows(library, x)
            products = self.products(unsigned)
            return native_rescale_rows(library, products, scales, self.bias, residual=residual, dtype=self.dtype)
        quantized, scales = quantize_rows(x.float())
        products = self.products(quantized.view(torch.uint8).bitwise_xor_(ZERO_POINT))
        outputs = products.mul_(scales[..., None]).add_(self.bias)  # two passes of half the time of `addcmul`'s one
        return (outputs if residual is None else outputs.add_(residual)).to(self.dtype)

    def products(self, unsigned: UInt8[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """The products of activations q, given as q + 128, with the weights: still to be scaled for each row."""
        products = torch.ops.onednn.qlinear_pointwise(
            *(unsigned, 1.0, ZERO_POINT, self.weight, self.scales, self.zero_points),
            *(None, 1.0, 0, torch.float32, "none", [], ""),
        )
        return products.view(*unsigned.shape[:-1], len(self.bias))  # the operator drops dimensions if there are no rows

    def plus(
        self, x: Float[Tensor, "*rows inputs"], residual: Float[Tensor, "*rows outputs"]
    ) -> Float[Tensor, "*rows outputs"]:
        """`residual` + the outputs; for layers without activation."""
        return self._outputs(x, residual)


@cache
def largest_weight() -> int:
    """127, or 63 where a product of the largest operands shows that sums saturate; measured once."""
    weights = torch.full((16, 64), LARGEST, dtype=torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(weights, [ROWS, 64])
    ones, zeros = torch.ones(16), torch.zeros(16, dtype=torch.int32)
    product = torch.ops.onednn.qlinear_pointwise(
        *(torch.full((1, 64), 255, dtype=torch.uint8), 1.0, ZERO_POINT, packed, ones, zeros),
        *(None, 1.0, 0, torch.float32, "none", [], ""),
    )
    return LARGEST if bool((product == 64 * LARGEST * LARGEST).all()) else LARGEST_WITH_SATURATION


def quantize_rows(
    x: Float[Tensor, "*rows width"], largest: int = LARGEST
) -> tuple[Int8[Tensor, "*rows width"], Float[Tensor, "*rows"]]:
    """`x` / scale rounded to [-largest, largest], and the scale of each row, its largest absolute value / largest."""
    scales = torch.maximum(x.amax(-1), x.amin(-1).neg_()).clamp_(min=_TINY).div_(largest)
    return x.mul(scales.reciprocal()[..., None]).round_().to(torch.int8), scales
