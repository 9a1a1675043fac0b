"""tanh GELU for training on a CPU: torch's takes as long as a product of half the hidden width.

Measurements: docs/results/performance.md.
"""

from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

_ELEMENTS_PER_CHUNK: Final = 2**18
"""Few enough to stay in the cache from one operation to the next."""
_SLOPE: Final = 2 * (2 / torch.pi) ** 0.5
_CUBIC: Final = 0.044715


def gelu_tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`F.gelu(x, approximate="tanh")`, computed with (1 + tanh u) / 2 = sigmoid(2 u)."""
    return _GeluTanh.apply(x) if x.requires_grad and torch.is_grad_enabled() else _gelu_tanh(x, derivative=None)


class _GeluTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        # The derivative is saved instead of the input: it needs the same sigmoid.
        derivative = torch.empty_like(x, memory_format=torch.contiguous_format)
        result = _gelu_tanh(x, derivative=derivative)
        ctx.save_for_backward(derivative)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> Tensor:  # pyrefly: ignore[bad-override]
        (derivative,) = ctx.saved_tensors
        return grad_outputs[0] * derivative


def _gelu_tanh(x: Tensor, *, derivative: Tensor | None) -> Tensor:
    """GELU of `x`; writes its derivative into `derivative`, if given."""
    result = torch.empty_like(x, memory_format=torch.contiguous_format)
    outs = [result] if derivative is None else [result, derivative]
    for part, *targets in zip(*(tensor.view(-1).split(_ELEMENTS_PER_CHUNK) for tensor in (x.contiguous(), *outs))):
        wide = part.to(torch.promote_types(part.dtype, torch.float32), copy=True)
        twice_u = torch.addcmul(wide.new_tensor(_SLOPE), wide, wide, value=_SLOPE * _CUBIC).mul_(wide)
        gate = twice_u.sigmoid()
        targets[0].copy_(wide * gate)
        if derivative is not None:  # gate + gate (1 - gate) inner, inner = x · d(2 u)/dx = 3 · 2 u - 2 _SLOPE x
            inner = wide.add_(twice_u, alpha=-1.5 / _SLOPE)  # divided by -2 _SLOPE, to take one pass
            slope = torch.addcmul(gate, gate, gate, value=-1)
            targets[1].copy_(gate.addcmul_(slope, inner, value=-2 * _SLOPE))
    return result
