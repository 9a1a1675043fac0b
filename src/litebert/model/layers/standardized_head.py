"""A regression head that is trained on standardized scores: a usual learning rate fits scores of any scale."""

from collections.abc import Mapping
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor, nn

HEAD: Final = "classifier"
_MEAN, _STD = f"{HEAD}.mean", f"{HEAD}.std"


class StandardizedHead(nn.Linear):
    """`std · (W x + b) + mean`: W and b learn scores of mean 0 and standard deviation 1, the outputs are the scores.

    A model is saved with one dense layer instead, which has the same outputs; checkpoints have both numbers.
    """

    def __init__(self, head: nn.Linear, *, mean: float, std: float) -> None:
        super().__init__(head.in_features, head.out_features, device="meta")
        self.weight, self.bias = head.weight, head.bias
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("std", torch.tensor(std, dtype=torch.float32))

    def forward(self, input: Float[Tensor, "*rows H"]) -> Float[Tensor, "*rows 1"]:
        """Scores, in float32: those of 16 bits would be rounded to 3 digits."""
        return super().forward(input).float() * self.std + self.mean


@torch.no_grad()
def standardize_head(model: nn.Module, *, mean: float, std: float, keep_outputs: bool) -> None:
    """Give `model` a standardized head with the parameters of its own.

    With `keep_outputs` these are changed so that the outputs stay as they are.
    """
    head: Any = getattr(model, HEAD)
    if keep_outputs:
        head.weight.div_(std)
        head.bias.sub_(mean).div_(std)
    setattr(model, HEAD, StandardizedHead(head, mean=mean, std=std))


def head_parameters(model: nn.Module) -> dict[str, Tensor]:
    """All parameters by name, and the two numbers of a standardized head."""
    numbers = {name: buffer for name, buffer in model.named_buffers() if name in (_MEAN, _STD)}
    return {**dict(model.named_parameters()), **numbers}


def with_dense_head(tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The tensors of the model with a dense layer as its head, if it has a standardized one."""
    if _MEAN not in tensors:
        return tensors
    mean, std = tensors[_MEAN], tensors[_STD]
    weight, bias = tensors[f"{HEAD}.weight"], tensors[f"{HEAD}.bias"]
    others = {name: tensor for name, tensor in tensors.items() if name not in (_MEAN, _STD)}
    return {**others, f"{HEAD}.weight": weight * std, f"{HEAD}.bias": bias * std + mean}
