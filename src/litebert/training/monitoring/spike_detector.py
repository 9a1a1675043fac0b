"""Steps whose loss or gradient leaps. Before: a step's numbers. After: `trainer.py` skips it, goes back or stops."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from litebert.files import write_json
from litebert.settings import Settings

SpikePolicy = Literal["ignore", "skip", "rollback", "stop"]
_FLAT = 0.01
"""Smallest standard deviation, as a share of the mean: where numbers hardly move, a ripple is no leap."""


class SpikeSettings(Settings):
    """What to do about a step whose loss or gradient norm is far above those of the steps before it."""

    policy: SpikePolicy = "rollback"
    """`skip` leaves it out; `rollback` also goes back after too many in a row; `stop` ends the run; or `ignore`."""
    sigma_factor: float = Field(default=6.0, gt=0)
    """Standard deviations above the mean from which on a value is a spike."""
    window: int = Field(default=128, ge=2)
    """Steps over which mean and deviation are taken; nothing is a spike before half of them are done."""
    max_rollbacks: int = Field(default=2, ge=0)
    """How often a run may return to a checkpoint before it stops."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest loss and gradient norm with which a step still reaches the weights."""

    loss: float = math.inf
    grad_norm: float = math.inf


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step as a person who looks for the cause of a spike needs it."""

    step: int
    batch: int
    """Number of the global batch: `BatchSource.microbatches(batch)` gives it again."""
    applied: bool
    """Whether the weights were updated."""
    loss: float
    losses: Mapping[str, float]
    grad_norm: float
    learning_rate: float
    limits: Limits

    @property
    def finite(self) -> bool:
        """Whether loss and gradient norm are numbers at all."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)

    def to_text(self) -> str:
        """Why the step was left out, on a line."""
        return (
            f"step {self.step} left out: loss {self.loss:.4g} (limit {self.limits.loss:.4g}), "
            f"gradient norm {self.grad_norm:.4g} (limit {self.limits.grad_norm:.4g}), batch {self.batch}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which knows no infinity."""
        return {
            "step": self.step,
            "batch": self.batch,
            "applied": self.applied,
            "loss": _plain(self.loss),
            "losses": {name: _plain(value) for name, value in self.losses.items()},
            "grad_norm": _plain(self.grad_norm),
            "learning_rate": self.learning_rate,
            "limits": {"loss": _plain(self.limits.loss), "grad_norm": _plain(self.limits.grad_norm)},
        }


class SpikeDetector:
    """The recent losses and gradient norms of a run, and the limits that follow from them."""

    def __init__(self, settings: SpikeSettings) -> None:
        self._settings = settings
        self._losses: deque[float] = deque(maxlen=settings.window)
        self._norms: deque[float] = deque(maxlen=settings.window)
        self._reports: deque[StepReport] = deque(maxlen=settings.window)

    @property
    def limits(self) -> Limits:
        """What the next step may not exceed. Source of the rule: OLMo-core's SkipStepOptimizer."""
        if self._settings.policy == "ignore":
            return NO_LIMITS
        return Limits(self._limit(self._losses), self._limit(self._norms))

    @property
    def last_was_finite(self) -> bool:
        """Whether the last step's numbers were numbers at all."""
        return self._reports[-1].finite

    def saw(self, report: StepReport) -> None:
        """Remember a step.

        A spike enters the history as the limit it broke: a lasting change is learned, an explosion is not.
        """
        self._reports.append(report)
        if report.finite:
            self._losses.append(min(report.loss, report.limits.loss))
            self._norms.append(min(report.grad_norm, report.limits.grad_norm))

    def dump(self, path: Path) -> Path:
        """Write the steps seen last, newest last, to `path`."""
        write_json(path, {"spikes": self._settings.to_dict(), "steps": [report.to_dict() for report in self._reports]})
        return path

    def state(self) -> dict[str, list[float]]:
        """What a continued run needs in order to decide alike."""
        return {"losses": list(self._losses), "grad_norms": list(self._norms)}

    def restore(self, state: Mapping[str, Iterable[float]]) -> None:
        """Put back what `state` gave."""
        self._losses = deque(state["losses"], maxlen=self._settings.window)
        self._norms = deque(state["grad_norms"], maxlen=self._settings.window)

    def _limit(self, history: deque[float]) -> float:
        count = len(history)
        if count < max(2, self._settings.window // 2):
            return math.inf
        mean = math.fsum(history) / count
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in history) / count)
        return mean + self._settings.sigma_factor * max(deviation, _FLAT * abs(mean))


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
