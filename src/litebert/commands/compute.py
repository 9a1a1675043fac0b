"""How a model computes, on which no number depends beyond rounding. Before: settings. After: how a run starts."""

from typing import cast

from pydantic import Field
from torch import nn

from litebert.model.encoder import Encoder
from litebert.settings import Settings


class Compute(Settings):
    """What is traded: time at the start against time for each step, time against memory."""

    compile: bool = False
    """Compile the block with torch.compile: a minute or more before the first step, faster steps on a GPU."""
    activation_checkpoint_interval: int | None = Field(default=None, gt=0)
    """Keep activations at every so many layers and compute those between again in the backward: less memory, a third
    more time. Null keeps all."""

    def apply(self, model: nn.Module) -> None:
        """Make the encoder of `model` compute so."""
        encoder = cast(Encoder, model.encoder)
        encoder.activation_checkpoint_interval = self.activation_checkpoint_interval
        if self.compile:
            encoder.compile_blocks()
