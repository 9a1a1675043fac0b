"""Activation functions by their names in a config. Before: `config.hidden_act`. After: feed-forward and heads."""

from collections.abc import Callable
from typing import Final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from litebert.model.config import Activation
from litebert.model.kernels.cpu_kernels import gelu_tanh


def gelu_new(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The tanh form of GELU, by the fastest way on the device of `x`."""
    if x.is_cpu and not torch.compiler.is_compiling():
        return gelu_tanh(x)
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: Final[dict[Activation, Callable[[Tensor], Tensor]]] = {
    "gelu": F.gelu,
    "gelu_new": gelu_new,
    "relu": F.relu,
    "silu": F.silu,
}
"""`gelu_new` is what the original code computes for "gelu". Source: `gelu` in the original modeling.py."""
