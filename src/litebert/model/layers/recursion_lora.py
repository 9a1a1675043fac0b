"""Low-rank updates of the shared dense layers, one for each layer that runs.

Source: Relaxed Recursive Transformers (Bae et al., 2024, arXiv 2410.20672), section 3.2; here they are trained from
the beginning.
"""

from collections.abc import Mapping
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.config import ModelConfig, attention_shapes, feed_forward_shapes

WeightUpdates = Mapping[str, Float[Tensor, "outputs inputs"]]
"""Name of a dense layer of the block → matrix to add to its weight."""
NO_UPDATES: Final[WeightUpdates] = {}


class LowRankUpdate(nn.Module):
    """The update B A of one weight; B is initialized to zero, so that the layers begin equal."""

    def __init__(self, inputs: int, outputs: int, *, rank: int) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.zeros(rank, inputs))
        self.b = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self) -> Float[Tensor, "outputs inputs"]:
        """B A, in the dtype of the parameters: added to the weight, it costs nothing per token."""
        with torch.autocast(self.a.device.type, enabled=False):
            return self.b @ self.a


class RecursionLoRA(nn.ModuleDict):
    """The updates of every dense layer of one block that runs."""

    def __init__(self, config: ModelConfig) -> None:
        shapes = {**attention_shapes(config), **feed_forward_shapes(config)}.items()
        super().__init__({name: LowRankUpdate(*shape, rank=config.recursion_lora_rank) for name, shape in shapes})

    def forward(self) -> WeightUpdates:
        """The matrices to add."""
        return {name: update() for name, update in self.items()}
