"""Learning rates as pure functions of progress: nothing to save. Before: settings. After: `trainer.py`."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from litebert.settings import Settings

At = Callable[[float], str]
"""Words for a moment `x`, which is 0 at the end of warm-up and 1 at the end of the run."""


class Constant(Settings):
    """The peak, from the end of warm-up on."""

    shape: Literal["constant"] = "constant"
    """Name of the schedule."""

    def decay(self, x: float) -> float:
        """Share of the peak at `x`, 0 at the end of warm-up and 1 at the end of the run."""
        return 1.0

    def told(self, at: At) -> str:
        """What follows the warm-up, in words."""
        return f"constant to {at(1)}"


class Linear(Settings):
    """Straight down to zero."""

    shape: Literal["linear"] = "linear"
    """Name of the schedule."""

    def decay(self, x: float) -> float:
        """Share of the peak at `x`, 0 at the end of warm-up and 1 at the end of the run."""
        return 1 - x

    def told(self, at: At) -> str:
        """What follows the warm-up, in words."""
        return f"straight down to 0 at {at(1)}"


class Polynomial(Settings):
    """Down to zero along a power of what is left."""

    shape: Literal["polynomial"] = "polynomial"
    """Name of the schedule."""
    power: float = Field(default=2.0, gt=0)
    """Exponent; 1 is a straight line."""

    def decay(self, x: float) -> float:
        """Share of the peak at `x`, 0 at the end of warm-up and 1 at the end of the run."""
        return (1 - x) ** self.power

    def told(self, at: At) -> str:
        """What follows the warm-up, in words."""
        return f"down to 0 at {at(1)} along a power of {self.power:g}"


class Cosine(Settings):
    """Half a cosine down to zero."""

    shape: Literal["cosine"] = "cosine"
    """Name of the schedule."""

    def decay(self, x: float) -> float:
        """Share of the peak at `x`, 0 at the end of warm-up and 1 at the end of the run."""
        return 0.5 * (1 + math.cos(math.pi * x))

    def told(self, at: At) -> str:
        """What follows the warm-up, in words."""
        return f"down to 0 at {at(1)} along half a cosine"


class WarmupStableDecay(Settings):
    """The peak for most of the run, then straight down to zero."""

    shape: Literal["warmup_stable_decay"] = "warmup_stable_decay"
    """Name of the schedule."""
    decay_fraction: float = Field(default=0.2, gt=0, le=1)
    """Share of what follows the warm-up that is spent going down."""

    def decay(self, x: float) -> float:
        """Share of the peak at `x`, 0 at the end of warm-up and 1 at the end of the run."""
        return min(1.0, (1 - x) / self.decay_fraction)

    def told(self, at: At) -> str:
        """What follows the warm-up, in words."""
        return f"constant to {at(1 - self.decay_fraction)}, then straight down to 0 at {at(1)}"


class Original(Settings):
    """Linear as the original code has it: the first update has rate 0, and where warm-up ends the rate jumps down.

    It decays from step 0 and warm-up overrides the decay. Source: `create_optimizer` in google-research/albert.
    """

    shape: Literal["original"] = "original"
    """Name of the schedule."""

    def told(self, at: At) -> str:
        """What follows the warm-up, in words."""
        return f"straight down to 0 at {at(1)} on the line from the first step, to which it jumps"


def _named(value: Any) -> Any:
    """`cosine` is short for `{shape: cosine}`."""
    return {"shape": value} if isinstance(value, str) else value


Schedule = Annotated[
    Annotated[
        Constant | Linear | Polynomial | Cosine | WarmupStableDecay | Original,
        Field(discriminator="shape"),
    ],
    BeforeValidator(_named),
]


def lr_multiplier(schedule: Schedule, progress: float, *, warmup: float, step_share: float = 0.0) -> float:
    """Share of the peak learning rate for the update that begins at `progress`, a share of the run.

    `warmup` is the warm-up's share of the run, `step_share` one step's: with it the first update is not wasted on a
    rate of zero, and the last step of warm-up has the peak.
    """
    if isinstance(schedule, Original):
        return progress / warmup if progress < warmup else 1 - min(1.0, progress)
    if progress < warmup:
        return min(1.0, (progress + step_share) / warmup)
    return schedule.decay(min(1.0, (progress - warmup) / (1 - warmup)))
