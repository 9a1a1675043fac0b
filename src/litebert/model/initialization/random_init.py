"""Fresh weights. Before: a module tree just built. After: training.

Each parameter is drawn from its own generator, keyed by seed and name: the same seed gives the same encoder under any
head, on any device.
"""

import torch
from torch import Tensor, nn

from litebert.randomness import torch_seed_for


def initialize(model: nn.Module, *, scale: float, seed: int) -> None:
    """Weights and tables: normal with standard deviation `scale`, cut at two of it. Biases: 0. Layer norms: 1 and 0.

    Source: `create_initializer` in the original modeling.py. Parameters on the meta device are left alone.
    """
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(path, recurse=False):
            if parameter.is_meta:
                continue
            if parameter.ndim == 2:
                fill_truncated_normal(parameter, scale=scale, seed=torch_seed_for(seed, "init", name))
            else:
                nn.init.constant_(parameter, float(isinstance(module, nn.LayerNorm) and name.endswith("weight")))


@torch.no_grad()
def fill_truncated_normal(tensor: Tensor, *, scale: float, seed: int) -> None:
    """Fill with a normal of standard deviation `scale` cut at two of it; drawn on the CPU, so equal on every device."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(tensor.numel(), generator=generator, device="cpu")
    outside = (values.abs() > 2).nonzero()[:, 0]
    while len(outside):  # drawn again, as TensorFlow does
        again = torch.randn(len(outside), generator=generator, device="cpu")
        values[outside] = again
        outside = outside[again.abs() > 2]
    tensor.copy_(values.mul_(scale).view_as(tensor))
