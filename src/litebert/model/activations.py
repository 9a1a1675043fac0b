"""Activation functions by their names in a config. Before: `config.hidden_act`. After: feed-forward and heads."""

from collections.abc import Callable
from functools import partial
from typing import Final

import torch.nn.functional as F
from torch import Tensor

from litebert.model.config import Activation

ACTIVATIONS: Final[dict[Activation, Callable[[Tensor], Tensor]]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
}
"""`gelu_new` is what the original code computes for "gelu". Source: `gelu` in the original modeling.py."""
