"""One training step: gradients of all microbatches and ranks, and the update of the weights."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from litebert.device import autocast
from litebert.loss_sums import LossSums
from litebert.settings import TrainingPrecision
from litebert.training.distributed.context import (
    DistributedContext,
    is_sharded,
    reduce_gradients,
    set_last_backward,
)
from litebert.training.optim.optimizers import set_learning_rate
from litebert.training.protocols import Batch, Number, Objective
from litebert.training.train_settings import TrainSettings

_TOKENS, _EXAMPLES, _FLOPS = "batch/tokens", "batch/examples", "batch/flops"


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Labels, tokens, examples and FLOPs of a step, over all ranks."""

    labels: dict[str, int]
    """Number of labels of each loss."""
    tokens: int
    examples: int
    flops: int | None
    """FLOPs of forward and backward; None if not known."""

    @classmethod
    def of(
        cls,
        microbatches: Sequence[Batch],
        objective: Objective,
        world: DistributedContext,
        *,
        flops: Callable[[Any], int] | None = None,
    ) -> "StepCounts":
        """Counts of a step; `microbatches` are those of this rank, and every rank must call."""
        own: Counter[str] = Counter()
        for batch in microbatches:
            own.update(objective.counts(batch))
            own.update({_TOKENS: batch.num_tokens, _EXAMPLES: batch.num_examples, _FLOPS: flops(batch) if flops else 0})
        totals = world.sum(own)
        tokens, examples, total = totals.pop(_TOKENS), totals.pop(_EXAMPLES), totals.pop(_FLOPS)
        return cls(labels=totals, tokens=tokens, examples=examples, flops=total if flops else None)


@dataclass(frozen=True, slots=True)
class UpdateLimits:
    """The largest loss and gradient norm with which a step updates the weights."""

    loss: float = math.inf
    grad_norm: float = math.inf


NO_LIMITS = UpdateLimits()


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Losses and gradient norm of a step, over all microbatches and ranks."""

    losses: dict[str, float]
    """Mean of each named loss."""
    accuracies: dict[str, float]
    """Accuracy of each named loss that has one."""
    grad_norm: float
    """Global norm of the gradient before clipping."""
    limits: UpdateLimits = NO_LIMITS

    @property
    def loss(self) -> float:
        """The sum of the named losses, which is minimized."""
        return sum(self.losses.values())

    @property
    def finite(self) -> bool:
        """Whether loss and gradient norm are finite."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)

    @property
    def applied(self) -> bool:
        """Whether the weights were updated; if not, they are unchanged on every rank."""
        return self.finite and self.loss <= self.limits.loss and self.grad_norm <= self.limits.grad_norm

    def metrics(self) -> dict[str, Number]:
        """Losses, accuracies and gradient norm by the names of `metrics.jsonl`."""
        return {
            "loss": self.loss,
            **{f"{name}_loss": value for name, value in self.losses.items()},
            **{f"{name}_accuracy": value for name, value in self.accuracies.items()},
            "grad_norm": self.grad_norm,
        }


@dataclass(frozen=True, slots=True)
class TrainStep:
    """Updates `model` with microbatches; their size and the number of ranks change the masks of dropout only."""

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
        limits: UpdateLimits = NO_LIMITS,
    ) -> StepOutcome:
        """Do one step; `counts` are the labels of each loss over all microbatches and ranks, `seed` is that of dropout.

        One transfer from the device, before the update: an outcome that is not finite, or beyond `limits`, leaves the
        weights as they are.
        """
        _seed_dropout(seed, self.world.device)
        self.model.train()
        sums = self._accumulate(microbatches, counts)
        reduce_gradients(self.model, self.world)
        self.scaler.unscale_(self.optimizer)
        norm = get_total_norm([each.grad for each in self.model.parameters() if each.grad is not None])
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
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
        """Add the gradients of Σ sum ÷ count to the parameters; returns the sums, detached."""
        # FSDP averages gradients over ranks; the factor makes that a sum.
        factor = self.world.size if is_sharded(self.model) else 1
        total = LossSums(losses={}, correct={})
        for index, batch in enumerate(microbatches):
            set_last_backward(self.model, last=index == len(microbatches) - 1)
            with autocast(self.settings.precision, self.world.device):
                sums = self.objective(self.model, batch.to(self.world.device))
            self.world.heartbeat.add()
            terms = [value.float() / max(counts[name], 1) for name, value in sums.losses.items()]
            self.scaler.scale(torch.stack(terms).sum() * factor).backward()
            add_sums(total, sums)
        return total


def _seed_dropout(seed: int, device: torch.device) -> None:
    """As torch.manual_seed, which also formats the stack for each kind of device that is not in use: a millisecond."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed_all(seed)


def add_sums(total: LossSums, sums: LossSums) -> None:
    """Add `sums` to `total` in fp64, detached and without waiting for the device."""
    for target, values in ((total.losses, sums.losses), (total.correct, sums.correct)):
        for name, value in values.items():
            target[name] = target.get(name, 0) + value.detach().double()


def _outcome(
    sums: LossSums, norm: Float[Tensor, ""], counts: Mapping[str, int], world: DistributedContext
) -> StepOutcome:
    """The outcome over all ranks, with one transfer from the device."""
    # The norm is a sum of equal shares, so that every rank gets the same digits and decides alike.
    stacked = torch.stack([*sums.losses.values(), *sums.correct.values(), norm.double() / world.size])
    world.sum_tensors([stacked])
    *values, grad_norm = stacked.tolist()
    names = [*sums.losses, *sums.correct]
    means = [value / max(counts[name], 1) for name, value in zip(names, values, strict=True)]
    losses = dict(zip(sums.losses, means))
    accuracies = dict(zip(sums.correct, means[len(losses) :], strict=True))
    return StepOutcome(losses, accuracies, grad_norm)


def gradient_scaler(precision: TrainingPrecision, device: torch.device) -> torch.amp.GradScaler:
    """A scaler that keeps small fp16 gradients from underflow; disabled for the other precisions."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
