"""Activation functions by their names in a config."""

from collections.abc import Callable
from typing import Final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from litebert.model.config import Activation
from litebert.model.kernels.cpu_kernels import gelu_tanh


def gelu_new(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The tanh form of GELU, by the fastest kernel for the device of `x`."""
    if x.is_cpu and not torch.compiler.is_compiling():
        return gelu_tanh(x)
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: Final[dict[Activation, Callable[[Tensor], Tensor]]] = {
    "gelu": F.gelu,
    "gelu_new": gelu_new,
    "relu": F.relu,
    "silu": F.silu,
}
"""`gelu_new` is what `gelu` of google-research/albert computes."""
