"""Random numbers of initial weights."""

import torch
from torch import Tensor


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
