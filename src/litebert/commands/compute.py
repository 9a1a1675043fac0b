"""Settings that change what a step costs and, up to rounding, none of its results."""

import logging
from typing import TYPE_CHECKING, cast

from pydantic import Field

from litebert.machine import has_bf16_instructions
from litebert.settings import Settings

if TYPE_CHECKING:
    import torch
    from torch import nn

    from litebert.model.encoder import Encoder

logger = logging.getLogger(__name__)


class Compute(Settings):
    """Compilation and activation checkpointing."""

    compile: bool = False
    """Compile the block with torch.compile: a minute or more before the first step, faster steps on a GPU."""
    activation_checkpoint_interval: int | None = Field(default=None, gt=0)
    """Keep the activations of every n-th layer only and recompute the others in the backward pass: less memory, a third
    more time. Null keeps all of them."""

    def apply(self, model: "nn.Module") -> None:
        """Configure the encoder of `model` accordingly."""
        encoder = cast("Encoder", model.encoder)
        encoder.activation_checkpoint_interval = self.activation_checkpoint_interval
        if self.compile:
            encoder.compile_blocks()


def warn_slow_bf16(precision: str, device: "torch.device") -> None:
    """Warn of bf16 on a processor that has to emulate it."""
    if precision == "bf16" and device.type == "cpu" and has_bf16_instructions() is False:
        logger.warning(
            "train.precision=bf16, but this processor has no bf16 instructions: train.precision=fp32 is likely faster "
            "(`litebert doctor` measures both)"
        )
