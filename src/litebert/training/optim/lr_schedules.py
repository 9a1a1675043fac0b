"""Learning rate schedules: pure functions of the fraction of the run that is done, without state."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from litebert.settings import Settings


class Curve(Settings):
    """A schedule without settings of its own."""

    type: Literal["constant", "linear", "cosine", "linear_tf"] = "linear"
    """`linear_tf` is linear decay as in google-research/albert: the decay begins at step 0 and warm-up replaces it, so
    that the first update is 0 and there is a jump after warm-up. Source: `create_optimizer` in optimization.py."""


class Polynomial(Settings):
    """Polynomial decay to zero."""

    type: Literal["polynomial"] = "polynomial"
    """Name of the schedule."""
    power: float = Field(default=2.0, gt=0)
    """Exponent; 1 is linear decay."""


class WarmupStableDecay(Settings):
    """The peak for most of the run, then linear decay to zero. Source: Hu et al. 2024, MiniCPM (arXiv 2404.06395)."""

    type: Literal["warmup_stable_decay"] = "warmup_stable_decay"
    """Name of the schedule."""
    decay_fraction: float = Field(default=0.2, gt=0, le=1)
    """Length of the decay, as a fraction of the run after warm-up."""


Schedule = Annotated[
    Annotated[Curve | Polynomial | WarmupStableDecay, Field(discriminator="type")],
    # `cosine` is short for `{type: cosine}`.
    BeforeValidator(lambda value: {"type": value} if isinstance(value, str) else value),
]

_DECAYS: Final[dict[str, Callable[[Any, float], float]]] = {
    "constant": lambda schedule, x: 1.0,
    "linear": lambda schedule, x: 1 - x,
    "polynomial": lambda schedule, x: (1 - x) ** schedule.power,
    "cosine": lambda schedule, x: 0.5 * (1 + math.cos(math.pi * x)),
    "warmup_stable_decay": lambda schedule, x: min(1.0, (1 - x) / schedule.decay_fraction),
}
"""Factor of the peak at `x`: 0 is the end of warm-up, 1 the end of the run."""
_TEXTS: Final[dict[str, Callable[[Any, Callable[[float], str]], str]]] = {
    "constant": lambda schedule, at: f"constant to {at(1)}",
    "linear": lambda schedule, at: f"linear decay to 0 at {at(1)}",
    "polynomial": lambda schedule, at: f"polynomial decay to 0 at {at(1)} with power {schedule.power:g}",
    "cosine": lambda schedule, at: f"cosine decay to 0 at {at(1)}",
    "warmup_stable_decay": lambda schedule, at: (
        f"constant to {at(1 - schedule.decay_fraction)}, then linear decay to 0 at {at(1)}"
    ),
    "linear_tf": lambda schedule, at: f"a jump to the linear decay from the first step to 0 at {at(1)}",
}


def describe(schedule: Schedule, at: Callable[[float], str]) -> str:
    """The schedule after warm-up, as text; `at` names a point `x` of the run."""
    return _TEXTS[schedule.type](schedule, at)


def lr_multiplier(schedule: Schedule, progress: float, *, warmup: float, step_fraction: float = 0.0) -> float:
    """Factor of the peak learning rate for the update that begins at `progress`, a fraction of the run.

    `warmup` is the fraction of the run that is warm-up, `step_fraction` that of one step, with which the first update
    has a learning rate above zero and the last step of warm-up the peak. It is 0 where it is not known, in runs of
    tokens or time: there the first update of a warm-up has a learning rate of 0.
    """
    if schedule.type == "linear_tf":
        return progress / warmup if progress < warmup else 1 - min(1.0, progress)
    if progress < warmup:
        return min(1.0, (progress + step_fraction) / warmup)
    return _DECAYS[schedule.type](schedule, min(1.0, (progress - warmup) / (1 - warmup)))
