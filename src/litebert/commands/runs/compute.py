"""What a step costs: settings that change no result."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pydantic import Field

from litebert.settings import Settings

if TYPE_CHECKING:
    from torch import nn


class Compute(Settings):
    """Compilation, compiled kernels and activation checkpointing."""

    compile: bool = False
    """Compile the block with torch.compile: a minute or more before the first step, faster steps on a GPU."""
    native_kernels: bool = True
    """On a CPU, use kernels that GCC compiles for this processor, once, in seconds; false, or no GCC: those of torch,
    with which steps in bf16 take 1.3 to 1.5 times as long on a processor with AMX, 1.15 to 1.3 times with AVX512-BF16.
    """
    activation_checkpoint_interval: int | None = Field(default=None, gt=0)
    """Keep the activations of every n-th layer only and recompute the others in the backward pass: less memory, a third
    more time. Null keeps all of them."""

    def apply(self, model: "nn.Module") -> None:
        """Configure the encoder of `model` accordingly."""
        from litebert.model.encoder import encoder_of

        encoder = encoder_of(model)
        encoder.activation_checkpoint_interval = self.activation_checkpoint_interval
        if self.compile:
            encoder.compile_blocks()

    def kernels(self) -> AbstractContextManager[None]:
        """A context in which this process computes with the kernels of these settings; afterwards with those before."""
        from litebert.model.kernels.native.library import native_kernels

        return native_kernels(enabled=self.native_kernels)
