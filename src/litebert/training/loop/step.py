"""One update of the weights. Before: microbatches and the step's counts. After: new weights, numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from litebert.training.distributed.context import (
    DistributedContext,
    is_sharded,
    reduce_gradients,
    synchronise_gradients,
)
from litebert.training.loop.precision import autocast
from litebert.training.monitoring.spike_detector import NO_LIMITS, Limits
from litebert.training.optim.optimizers import set_learning_rate
from litebert.training.protocols import Batch, LossSums, Number, Objective
from litebert.training.train_settings import TrainSettings

_TOKENS, _EXAMPLES = "batch/tokens", "batch/examples"


@dataclass(frozen=True, slots=True)
class StepCounts:
    """What a step works on, over all ranks."""

    labels: dict[str, int]
    """Of each loss."""
    tokens: int
    examples: int

    @classmethod
    def of(cls, microbatches: Sequence[Batch], objective: Objective, world: DistributedContext) -> "StepCounts":
        """The counts of a step of which `microbatches` are this rank's part; every rank must call."""
        own: Counter[str] = Counter()
        for batch in microbatches:
            own.update(objective.counts(batch))
            own.update({_TOKENS: batch.num_tokens, _EXAMPLES: batch.num_examples})
        totals = world.sum(own)
        tokens, examples = totals.pop(_TOKENS), totals.pop(_EXAMPLES)
        return cls(labels=totals, tokens=tokens, examples=examples)


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What one step gave, over all microbatches and ranks."""

    losses: dict[str, float]
    """Mean of each named loss."""
    accuracies: dict[str, float]
    """Share of right answers, for the losses that have them."""
    grad_norm: float
    """Global norm of the gradient before clipping."""
    limits: Limits = NO_LIMITS
    """What loss and norm might not exceed."""

    @property
    def loss(self) -> float:
        """What was minimised: the sum of the named losses."""
        return sum(self.losses.values())

    @property
    def finite(self) -> bool:
        """Whether loss and gradient are numbers at all."""
        return all(abs(value) < float("inf") for value in (self.loss, self.grad_norm))

    @property
    def applied(self) -> bool:
        """Whether the weights were updated; if not, they are untouched on every rank."""
        return self.finite and self.loss <= self.limits.loss and self.grad_norm <= self.limits.grad_norm

    def numbers(self) -> dict[str, Number]:
        """The outcome as a record has it."""
        return {
            "loss": self.loss,
            **{f"{name}_loss": value for name, value in self.losses.items()},
            **{f"{name}_accuracy": value for name, value in self.accuracies.items()},
            "grad_norm": self.grad_norm,
        }


@dataclass(frozen=True, slots=True)
class TrainStep:
    """Turns microbatches into an update of `model`, the same whatever their size and the number of ranks."""

    model: nn.Module
    objective: Objective
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    settings: TrainSettings
    world: DistributedContext

    def update(
        self,
        microbatches: Sequence[Batch],
        counts: Mapping[str, int],
        *,
        learning_rate: float,
        seed: int,
        limits: Limits = NO_LIMITS,
    ) -> StepOutcome:
        """One step with `counts`, the labels of each loss over all microbatches and ranks.

        Dropout is keyed by `seed`. One transfer from the device: whether the outcome is finite and within `limits` is
        known before the weights change.
        """
        torch.manual_seed(seed)
        self.model.train()
        sums = self._accumulate(microbatches, counts)
        reduce_gradients(self.model, self.world)
        self.scaler.unscale_(self.optimizer)
        gradients = [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]
        norm = _global_norm(gradients)
        outcome = replace(_outcome(sums, norm, counts, self.world), limits=limits)
        if outcome.applied:
            if self.settings.max_grad_norm is not None:
                clip_grads_with_norm_(self.model.parameters(), self.settings.max_grad_norm, norm)
            set_learning_rate(self.optimizer, learning_rate)
            self.optimizer.step()
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return outcome

    def _accumulate(self, microbatches: Sequence[Batch], counts: Mapping[str, int]) -> LossSums:
        """Gradients of sums ÷ counts in the parameters; the sums themselves, detached."""
        # FSDP averages over ranks; multiplying by their number undoes it.
        factor = self.world.size if is_sharded(self.model) else 1
        total = LossSums(losses={}, correct={})
        for index, batch in enumerate(microbatches):
            synchronise_gradients(self.model, enabled=index == len(microbatches) - 1)
            with autocast(self.settings.precision, self.world.device):
                sums = self.objective(self.model, batch.to(self.world.device))
            self.world.arrivals.add()
            terms = [value.float() / max(counts[name], 1) for name, value in sums.losses.items()]
            self.scaler.scale(torch.stack(terms).sum() * factor).backward()
            add_sums(total, sums)
        return total


def add_sums(total: LossSums, sums: LossSums) -> None:
    """Add the values of `sums` to `total`, in fp64, detached and without waiting for the device."""
    for target, values in ((total.losses, sums.losses), (total.correct, sums.correct)):
        for name, value in values.items():
            target[name] = target.get(name, 0) + value.detach().double()


def _global_norm(gradients: list[Tensor]) -> Float[Tensor, ""]:
    norm = get_total_norm(gradients)
    return norm.full_tensor() if isinstance(norm, DTensor) else norm


def _outcome(
    sums: LossSums, norm: Float[Tensor, ""], counts: Mapping[str, int], world: DistributedContext
) -> StepOutcome:
    """The step's numbers over all ranks, fetched from the device in one go."""
    # The norm as a sum of equal shares: every rank sees the same digits and so decides alike.
    stacked = torch.stack([*sums.losses.values(), *sums.correct.values(), norm.double() / world.size])
    world.sum_tensors([stacked])
    *values, grad_norm = stacked.tolist()
    names = [*sums.losses, *sums.correct]
    means = [value / max(counts[name], 1) for name, value in zip(names, values, strict=True)]
    losses = dict(zip(sums.losses, means))
    accuracies = dict(zip(sums.correct, means[len(losses) :], strict=True))
    return StepOutcome(losses, accuracies, grad_norm)
