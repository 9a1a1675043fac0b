"""What the engine asks of the rest of the house. Before: models, corpora, tasks. After: `trainer.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

Number = int | float


@runtime_checkable
class Batch(Protocol):
    """Some examples, ready for the model."""

    @property
    def num_tokens(self) -> int:
        """Real tokens, padding left out."""
        ...

    @property
    def num_examples(self) -> int:
        """Examples in this batch."""
        ...

    def to(self, device: torch.device) -> "Batch":
        """The same batch on `device`."""
        ...


@runtime_checkable
class BatchSource(Protocol):
    """An endless row of global batches, each a pure function of its step; so resuming needs no iterator state."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the examples of any step change; world size and microbatch size are not part of it."""
        ...

    @property
    def batch_size(self) -> int:
        """Examples in a global batch, over all ranks."""
        ...

    @property
    def examples_per_epoch(self) -> int:
        """Examples after which each one has been seen once."""
        ...

    def microbatches(self, step: int) -> Sequence[Batch]:
        """This rank's part of global batch `step`, at least one microbatch; called from a thread, one step ahead."""
        ...


@dataclass(frozen=True)
class LossSums:
    """What one microbatch adds to the step: sums, never means, under the names of the objective's counts."""

    losses: dict[str, Tensor]
    """Summed losses, one scalar a name."""
    correct: dict[str, Tensor]
    """Numbers of right answers, one scalar a name; a loss without right answers (regression) is left out.

    There may be more names than losses, for right answers counted over a part of the labels."""


@runtime_checkable
class Objective(Protocol):
    """What is trained: named losses, each divided by its own count over the whole step.

    `batch` is of the kind that the run's BatchSource gives, hence Any.
    """

    def counts(self, batch: Any) -> dict[str, int]:
        """How many labels each loss of `batch` sums over; from the labels alone, so it is known before the forward."""
        ...

    def __call__(self, model: nn.Module, batch: Any) -> LossSums:
        """Run `model` on `batch`."""
        ...


@runtime_checkable
class Tracker(Protocol):
    """A place where numbers go."""

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """Keep `values` as of `step`."""
        ...

    def finish(self) -> None:
        """Nothing follows."""
        ...
