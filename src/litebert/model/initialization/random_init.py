"""Random initialization: truncated normal weights, one random stream per parameter.

Each parameter has its own generator, keyed by the seed and the parameter's name, so that a seed gives the same encoder
under any head and on any device.
"""

from typing import Final

import torch
from torch import Tensor, nn

from litebert.model.layers.block import LowRankUpdate
from litebert.randomness import torch_seed_for

_STREAM_NAMES: Final = {"sentence_pair.weight": "sop.weight"}
"""Parameters whose random stream has another key than their name."""


def initialize(model: nn.Module, *, scale: float, seed: int) -> None:
    """Weights and tables: normal with standard deviation `scale`, truncated at 2 `scale`. Biases: 0. LayerNorm: 1, 0.

    Of a low-rank update B A, B is 0.

    Parameters on the meta device are skipped. Source: `create_initializer` in modeling.py of google-research/albert.
    """
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(path, recurse=False):
            if parameter.is_meta:
                continue
            if isinstance(module, LowRankUpdate) and name.endswith(".b"):
                nn.init.zeros_(parameter)
            elif parameter.ndim == 2:
                key = torch_seed_for(seed, "init", _STREAM_NAMES.get(name, name))
                fill_truncated_normal(parameter, scale=scale, seed=key)
            else:
                nn.init.constant_(parameter, float(isinstance(module, nn.LayerNorm) and name.endswith("weight")))


@torch.no_grad()
def fill_truncated_normal(tensor: Tensor, *, scale: float, seed: int) -> None:
    """Fill `tensor`, in place, from a normal of standard deviation `scale` truncated at two standard deviations.

    The numbers are drawn on the CPU, so they are the same on every device.
    """
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(tensor.numel(), generator=generator, device="cpu")
    outside = (values.abs() > 2).nonzero()[:, 0]
    while len(outside):  # redrawn, as TensorFlow does
        again = torch.randn(len(outside), generator=generator, device="cpu")
        values[outside] = again
        outside = outside[again.abs() > 2]
    tensor.copy_(values.mul_(scale).view_as(tensor))
