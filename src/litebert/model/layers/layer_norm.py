"""LayerNorm and the residual sum around a layer, by the fastest kernels for their device."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.kernels.native.library import native_library
from litebert.model.kernels.native.norms import native_layer_norm, native_residual


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`, and the same for a reader in another dtype."""

    def forward(self, input: Float[Tensor, "*rows H"]) -> Float[Tensor, "*rows H"]:
        """As `nn.LayerNorm`."""
        return self._normalized(input, torch.promote_types(input.dtype, torch.float32))

    def for_products(self, x: Float[Tensor, "*rows H"]) -> Float[Tensor, "*rows H"]:
        """The result in the dtype of the matrix products that read it: that of autocast, where it is on."""
        device = x.device.type
        return self._normalized(x, torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype)

    def _normalized(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        library = native_library(x, self.weight)
        if library and x.dtype == self.weight.dtype == torch.float32 and dtype in (torch.float32, torch.bfloat16):
            return native_layer_norm(library, x, self.weight, self.bias, self.eps, dtype)
        return super().forward(x).to(dtype)


def add_residual(x: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`x + y`; the residual stream `x` may have more bits than the output `y` of a layer."""
    if x.dtype == torch.float32 and y.dtype == torch.bfloat16 and (library := native_library(x, y)):
        return native_residual(library, x, y)
    return x + y
