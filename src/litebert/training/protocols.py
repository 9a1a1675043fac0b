"""The interfaces between the trainer and data, objectives and trackers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from litebert.loss_sums import LossSums

Number = int | float


@runtime_checkable
class Batch(Protocol):
    """Examples as tensors, ready for the model."""

    @property
    def num_tokens(self) -> int:
        """Tokens without padding."""

    @property
    def num_examples(self) -> int:
        """Examples in this batch."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on `device`."""


@runtime_checkable
class BatchSource(Protocol):
    """An infinite sequence of global batches, each a pure function of its step: resuming needs no iterator state."""

    @property
    def fingerprint(self) -> str:
        """A digest that changes if the examples of any step change; independent of world size and microbatch size."""

    @property
    def batch_size(self) -> int:
        """Examples in a global batch, over all ranks."""

    @property
    def examples_per_epoch(self) -> int:
        """Examples in one epoch."""

    def microbatches(self, step: int) -> Sequence[Batch]:
        """This rank's part of global batch `step`, at least one microbatch; called in a thread, one step ahead."""


@runtime_checkable
class Objective(Protocol):
    """Named losses to minimize, each divided by its own count over the whole step.

    `batch` is what the run's BatchSource returns, hence Any.
    """

    def counts(self, batch: Any) -> dict[str, int]:
        """The number of labels of each loss of `batch`, known before the forward."""

    def __call__(self, model: nn.Module, batch: Any) -> LossSums:
        """Run `model` on `batch`."""


@runtime_checkable
class Tracker(Protocol):
    """A destination for metrics; runs of wandb and trackio are such."""

    def log(self, values: Mapping[str, Number], step: int) -> None:
        """Store the `values` of `step`."""

    def finish(self) -> None:
        """Close the destination."""
