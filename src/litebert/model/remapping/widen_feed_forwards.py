"""Adds units to trained feed-forward layers without changing what the model computes.

A new unit reads with random weights and writes with zeros, so outputs stay equal and training begins with its output
weights. Source: function-preserving growth, as in Net2Net (Chen et al., ICLR 2016), here with zeros instead of copies,
which needs no noise to tell the copies apart (Gesmundo and Maile 2023, arXiv 2308.06103, expansion of the MLP).
"""

import re
from collections.abc import Mapping
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.model.truncated_normal import fill_truncated_normal
from litebert.randomness import torch_seed_for

_BLOCK: Final = r"encoder\.feed_forwards\.\d+\."
_LORA: Final = r"encoder\.recursion_lora\.\d+\."
_RANDOM_ROWS: Final = re.compile(rf"{_BLOCK}(up|gate)\.weight")
_ZERO_ROWS: Final = re.compile(rf"{_BLOCK}(up|gate)\.bias|{_LORA}(up|gate)\.b")
_ZERO_COLUMNS: Final = re.compile(rf"{_BLOCK}down\.weight|{_LORA}down\.a")


def widen_feed_forwards(
    parameters: Mapping[str, Tensor], intermediate_size: int, *, scale: float, seed: int
) -> dict[str, Tensor]:
    """The tensors of a state dict that depend on the feed-forward width, for a width of `intermediate_size`.

    Args:
        parameters: of an encoder, alone or below heads.
        intermediate_size: at least that of `parameters`; the units that a layer has come first.
        scale: standard deviation of the new input weights, which are truncated at 2 `scale`.
        seed: of these weights; each tensor has its own random numbers.
    """
    result = {}
    for name, tensor in parameters.items():
        if _RANDOM_ROWS.fullmatch(name):
            new = torch.empty(intermediate_size - len(tensor), tensor.shape[1])
            fill_truncated_normal(new, scale=scale, seed=torch_seed_for(seed, "widen", name))
            result[name] = torch.cat([tensor, new.to(tensor)])
        elif _ZERO_ROWS.fullmatch(name):
            result[name] = _with_zeros(tensor, dim=0, size=intermediate_size)
        elif _ZERO_COLUMNS.fullmatch(name):
            result[name] = _with_zeros(tensor, dim=1, size=intermediate_size)
    return result


def _with_zeros(tensor: Float[Tensor, "*shape"], *, dim: int, size: int) -> Float[Tensor, "*shape2"]:
    shape = list(tensor.shape)
    shape[dim] = size - shape[dim]
    return torch.cat([tensor, tensor.new_zeros(shape)], dim=dim)
