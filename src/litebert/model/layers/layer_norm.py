"""LayerNorm and the residual sum around a layer, by the fastest kernels for their device."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.kernels.native.library import NativeLibrary, native_library
from litebert.model.kernels.native.norms import native_layer_norm, native_residual


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`, and the same for a reader in another dtype."""

    def forward(self, input: Float[Tensor, "*rows H"]) -> Float[Tensor, "*rows H"]:
        """As `nn.LayerNorm`."""
        library = self._library(input)
        return self._native(library, input, torch.float32) if library else super().forward(input)

    def for_products(self, x: Float[Tensor, "*rows H"], dtype: torch.dtype | None = None) -> Float[Tensor, "*rows H"]:
        """The result in the dtype of the matrix products that read it; None: that of autocast, where it is on."""
        device = x.device.type
        if dtype is None:
            dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        if dtype in (torch.float32, torch.bfloat16) and (library := self._library(x)):
            return self._native(library, x, dtype)
        return super().forward(x).to(dtype)

    def _library(self, x: Tensor) -> NativeLibrary | None:
        """The compiled kernels, if they compute this norm: of the last dimension, in 32 bits, with weight and bias."""
        weight, bias = self.weight, self.bias
        if weight is None or bias is None or x.shape[-1:] != self.normalized_shape:
            return None
        in_32_bits = x.dtype == weight.dtype == bias.dtype == torch.float32
        return native_library(x, weight, bias) if in_32_bits else None

    def _native(self, library: NativeLibrary, x: Tensor, dtype: torch.dtype) -> Tensor:
        return native_layer_norm(library, x, self.weight, self.bias, float(self.eps), dtype)


def add_residual(x: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`x + y`; the residual stream `x` may have more bits than the output `y` of a layer."""
    mixed = x.dtype == torch.float32 and y.dtype == torch.bfloat16 and x.shape == y.shape
    library = native_library(x, y) if mixed else None
    return native_residual(library, x, y) if library else x + y
