"""GELU, alone or as the gate of a feed-forward layer, in one pass forward and one backward."""

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from litebert.model.kernels.native.library import NativeLibrary

Form = Literal["gelu", "gelu_tanh"]
"""`F.gelu(x)`, to 2e-7 of the largest |x|, and `F.gelu(x, approximate="tanh")`."""


def native_gelu(library: NativeLibrary, form: Form, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """GELU of `x`."""
    x = x.contiguous()
    return _Gelu.apply(library, form, x) if torch.is_grad_enabled() else _gelu(library, form, x)


def native_gated_gelu(
    library: NativeLibrary, form: Form, gate: Float[Tensor, "*shape"], up: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """GELU of `gate`, times `up`, both of one dtype, rounded once."""
    inputs = library, form, gate.contiguous(), up.contiguous()
    return _GatedGelu.apply(*inputs) if torch.is_grad_enabled() else _gated_gelu(*inputs)


def _gelu(library: NativeLibrary, form: Form, x: Tensor) -> Tensor:
    result = torch.empty_like(x)
    library.run(form, x.dtype, x, result, x.numel())
    return result


def _gated_gelu(library: NativeLibrary, form: Form, gate: Tensor, up: Tensor) -> Tensor:
    result = torch.empty_like(gate)
    library.run(f"gated_{form}", gate.dtype, gate, up, result, gate.numel())
    return result


class _Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, library: NativeLibrary, form: Form, x: Tensor) -> Tensor:
        ctx.library, ctx.form = library, form
        ctx.save_for_backward(x)
        return _gelu(library, form, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        (x,) = ctx.saved_tensors
        result = torch.empty_like(x)
        ctx.library.run(f"{ctx.form}_backward", x.dtype, x, grad_outputs[0].contiguous(), result, x.numel())
        return None, None, result


class _GatedGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, library: NativeLibrary, form: Form, gate: Tensor, up: Tensor) -> Tensor:
        ctx.library, ctx.form = library, form
        ctx.save_for_backward(gate, up)
        return _gated_gelu(library, form, gate, up)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        gate, up = ctx.saved_tensors
        gradients = torch.empty_like(gate), torch.empty_like(up)
        inputs = gate, up, grad_outputs[0].contiguous()
        ctx.library.run(f"gated_{ctx.form}_backward", gate.dtype, *inputs, *gradients, gate.numel())
        return None, None, *gradients
