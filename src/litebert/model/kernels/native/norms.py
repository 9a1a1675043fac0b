"""Layer norm whose result has the dtype of what reads it, and the sum of the residual stream and a layer's output."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from litebert.model.kernels.native.library import NativeLibrary


def native_layer_norm(
    library: NativeLibrary,
    x: Float[Tensor, "*rows H"],
    weight: Float[Tensor, " H"],
    bias: Float[Tensor, " H"],
    eps: float,
    dtype: torch.dtype,
) -> Float[Tensor, "*rows H"]:
    """Layer norm of `x`, which like weight and bias has 32 bits, in `dtype`."""
    inputs = x.contiguous(), weight.contiguous(), bias.contiguous(), float(eps)
    if torch.is_grad_enabled():
        return _LayerNorm.apply(library, *inputs, dtype)
    return _normalized(library, *inputs, dtype)


def native_residual(
    library: NativeLibrary, x: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """`x + y` in 32 bits, which `x` has."""
    inputs = x.contiguous(), y.contiguous()
    return _Residual.apply(library, *inputs) if torch.is_grad_enabled() else _sum(library, *inputs)


def _normalized(
    library: NativeLibrary,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
    dtype: torch.dtype,
    means: Tensor | None = None,
    scales: Tensor | None = None,
) -> Tensor:
    """The result; the means and scales of the rows are written where they are needed for the backward pass."""
    result, size = torch.empty_like(x, dtype=dtype), x.shape[-1]
    library.run("layer_norm", dtype, x, weight, bias, eps, result, means, scales, x.numel() // size, size)
    return result


def _sum(library: NativeLibrary, x: Tensor, y: Tensor) -> Tensor:
    result = torch.empty_like(x)
    library.run("add", y.dtype, x, y, result, x.numel())
    return result


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, library: NativeLibrary, x: Tensor, weight: Tensor, bias: Tensor, eps: float, dtype: torch.dtype
    ) -> Tensor:
        means, scales = x.new_empty(2, x.numel() // x.shape[-1])
        result = _normalized(library, x, weight, bias, eps, dtype, means, scales)
        ctx.library, ctx.dtype = library, dtype
        ctx.save_for_backward(x, weight, means, scales)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        x, weight, means, scales = ctx.saved_tensors
        size, threads = x.shape[-1], torch.get_num_threads()
        result, parameters = torch.empty_like(x), x.new_empty(2, threads, size)
        inputs = (x, weight, means, scales, grad_outputs[0].contiguous())
        ctx.library.run("layer_norm_backward", ctx.dtype, *inputs, result, *parameters, len(means), size)
        of_weight, of_bias = parameters.sum(1)
        return None, result, of_weight, of_bias, None, None


class _Residual(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, library: NativeLibrary, x: Tensor, y: Tensor) -> Tensor:
        ctx.dtype = y.dtype
        return _sum(library, x, y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        return None, grad_outputs[0], grad_outputs[0].to(ctx.dtype)
