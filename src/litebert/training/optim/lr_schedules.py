"""Learning rate schedules: pure functions of the fraction of the run that is done, without state."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from litebert.settings import Settings

At = Callable[[float], str]
"""Text for a point `x` of the run: 0 is the end of warm-up, 1 the end of the run."""


class Constant(Settings):
    """The peak learning rate after warm-up."""

    type: Literal["constant"] = "constant"
    """Name of the schedule."""

    def decay(self, x: float) -> float:
        """Factor of the peak at `x`: 0 is the end of warm-up, 1 the end of the run."""
        return 1.0

    def describe(self, at: At) -> str:
        """The schedule after warm-up, as text."""
        return f"constant to {at(1)}"


class Linear(Settings):
    """Linear decay to zero."""

    type: Literal["linear"] = "linear"
    """Name of the schedule."""

    def decay(self, x: float) -> float:
        """Factor of the peak at `x`: 0 is the end of warm-up, 1 the end of the run."""
        return 1 - x

    def describe(self, at: At) -> str:
        """The schedule after warm-up, as text."""
        return f"linear decay to 0 at {at(1)}"


class Polynomial(Settings):
    """Polynomial decay to zero."""

    type: Literal["polynomial"] = "polynomial"
    """Name of the schedule."""
    power: float = Field(default=2.0, gt=0)
    """Exponent; 1 is linear decay."""

    def decay(self, x: float) -> float:
        """Factor of the peak at `x`: 0 is the end of warm-up, 1 the end of the run."""
        return (1 - x) ** self.power

    def describe(self, at: At) -> str:
        """The schedule after warm-up, as text."""
        return f"polynomial decay to 0 at {at(1)} with power {self.power:g}"


class Cosine(Settings):
    """Cosine decay to zero."""

    type: Literal["cosine"] = "cosine"
    """Name of the schedule."""

    def decay(self, x: float) -> float:
        """Factor of the peak at `x`: 0 is the end of warm-up, 1 the end of the run."""
        return 0.5 * (1 + math.cos(math.pi * x))

    def describe(self, at: At) -> str:
        """The schedule after warm-up, as text."""
        return f"cosine decay to 0 at {at(1)}"


class WarmupStableDecay(Settings):
    """The peak for most of the run, then linear decay to zero."""

    type: Literal["warmup_stable_decay"] = "warmup_stable_decay"
    """Name of the schedule."""
    decay_fraction: float = Field(default=0.2, gt=0, le=1)
    """Length of the decay, as a fraction of the run after warm-up."""

    def decay(self, x: float) -> float:
        """Factor of the peak at `x`: 0 is the end of warm-up, 1 the end of the run."""
        return min(1.0, (1 - x) / self.decay_fraction)

    def describe(self, at: At) -> str:
        """The schedule after warm-up, as text."""
        return f"constant to {at(1 - self.decay_fraction)}, then linear decay to 0 at {at(1)}"


class LinearTF(Settings):
    """Linear decay as in google-research/albert: the first update is 0, and there is a jump after warm-up.

    The decay begins at step 0, and warm-up replaces it. Source: `create_optimizer` in optimization.py.
    """

    type: Literal["linear_tf"] = "linear_tf"
    """Name of the schedule."""

    def describe(self, at: At) -> str:
        """The schedule after warm-up, as text."""
        return f"a jump to the linear decay from the first step to 0 at {at(1)}"


def _named(value: Any) -> Any:
    """`cosine` is short for `{type: cosine}`."""
    return {"type": value} if isinstance(value, str) else value


Schedule = Annotated[
    Annotated[
        Constant | Linear | Polynomial | Cosine | WarmupStableDecay | LinearTF,
        Field(discriminator="type"),
    ],
    BeforeValidator(_named),
]


def lr_multiplier(schedule: Schedule, progress: float, *, warmup: float, step_fraction: float = 0.0) -> float:
    """Factor of the peak learning rate for the update that begins at `progress`, a fraction of the run.

    `warmup` is the fraction of the run that is warm-up, `step_fraction` that of one step: the first update has
    a learning rate above zero, and the last step of warm-up has the peak.
    """
    if isinstance(schedule, LinearTF):
        return progress / warmup if progress < warmup else 1 - min(1.0, progress)
    if progress < warmup:
        return min(1.0, (progress + step_fraction) / warmup)
    return schedule.decay(min(1.0, (progress - warmup) / (1 - warmup)))
