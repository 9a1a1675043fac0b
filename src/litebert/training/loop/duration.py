"""Lengths of runs, one value with a unit: `2000 steps`, `5 minutes`. Before: settings. After: schedules, trainer."""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import CoreSchema, core_schema

from litebert.errors import ConfigError

_UNITS = {
    "step": ("steps", 1),
    "example": ("examples", 1),
    "token": ("tokens", 1),
    "epoch": ("epochs", 1),
    "second": ("seconds", 1),
    "minute": ("seconds", 60),
    "hour": ("seconds", 3600),
    "day": ("seconds", 86400),
}
_SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9}
_PATTERN = re.compile(r"\s*([0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?)\s*([kMB]?)\s+([a-z]+?)s?\s*")
_EXPECTED = "a positive number and a unit: '2000 steps', '1e6 examples', '30M tokens', '3 epochs', '5 minutes'"


@dataclass(frozen=True, slots=True)
class Duration:
    """A positive amount of steps, examples, tokens, epochs or seconds."""

    amount: float
    """How many units; minutes, hours and days are kept as seconds."""
    unit: str
    """`steps`, `examples`, `tokens`, `epochs` or `seconds`."""

    @classmethod
    def parse(cls, value: Any) -> "Duration":
        """The duration that `value`, a text such as `5 minutes`, says."""
        if isinstance(value, cls):
            return value
        match = _PATTERN.fullmatch(value) if isinstance(value, str) else None
        if match is None or match[3] not in _UNITS:
            raise ConfigError(f"{value!r} is no duration: expected {_EXPECTED}")
        unit, factor = _UNITS[match[3]]
        amount = _number(match[1]) * _SUFFIXES[match[2]] * factor
        if not 0 < amount < math.inf:
            raise ConfigError(f"{value!r} is no duration: expected {_EXPECTED}")
        return cls(amount, unit)

    def __str__(self) -> str:
        """As settings are written: `parse` gives the same back."""
        return f"{int(self.amount) if self.amount.is_integer() else self.amount} {self.unit}"

    def told(self) -> str:
        """For a person: `45 minutes` where `str` says `2700 seconds`."""
        units = ("day", "hour", "minute") if self.unit == "seconds" else ()
        for name in units:
            amount = self.amount / _UNITS[name][1]
            if amount.is_integer():
                return f"{amount:,.0f} {name}" + "s" * (amount != 1)
        return f"{self.amount:,.10g} {self.unit if self.amount != 1 else self.unit[:-1]}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Settings files say durations as text."""
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            json_schema_input_schema=core_schema.str_schema(),
            serialization=core_schema.to_string_ser_schema(),
        )


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a run has come."""

    step: int = 0
    """Steps done."""
    tokens: int = 0
    """Real tokens seen, over all ranks."""
    seconds: float = 0.0
    """Time spent in `Trainer.fit`, earlier parts of a resumed run included."""
    skipped: int = 0
    """Steps left out because a loss or gradient was not finite or far above those before."""
    skipped_in_a_row: int = 0
    """Those among them that were the last."""
    rollbacks: int = 0
    """Returns to an earlier checkpoint."""
    skipped_batches: int = 0
    """Batches between such a checkpoint and where the run stood; they are not drawn again."""

    @property
    def batch(self) -> int:
        """The number of the global batch that comes next."""
        return self.step + self.skipped_batches

    def stepped(self, *, tokens: int, applied: bool) -> "TrainingProgress":
        """The position one step of so many tokens later."""
        return replace(
            self,
            step=self.step + 1,
            tokens=self.tokens + tokens,
            skipped=self.skipped + (not applied),
            skipped_in_a_row=0 if applied else self.skipped_in_a_row + 1,
        )

    def rollback_to(self, checkpoint: "TrainingProgress") -> "TrainingProgress":
        """The position of `checkpoint`, with time and counts as they are here, before batches not drawn yet."""
        return replace(
            checkpoint,
            seconds=self.seconds,
            skipped=self.skipped,
            skipped_in_a_row=0,
            rollbacks=self.rollbacks + 1,
            skipped_batches=self.batch - checkpoint.step,
        )


@dataclass(frozen=True, slots=True)
class DurationConverter:
    """Compares positions with durations, for one source of batches."""

    batch_size: int
    examples_per_epoch: int

    def steps(self, duration: Duration) -> int | None:
        """Steps that `duration` takes, rounded up; None where only the run itself can tell (tokens, seconds)."""
        examples = {"examples": 1, "epochs": self.examples_per_epoch, "steps": self.batch_size}.get(duration.unit)
        return None if examples is None else math.ceil(round(duration.amount * examples / self.batch_size, 9))

    def share(self, duration: Duration, position: TrainingProgress) -> float:
        """Position ÷ duration: 0 at the start, 1 at the end, more after it."""
        steps = self.steps(duration)
        if steps is not None:
            return position.step / steps
        return (position.tokens if duration.unit == "tokens" else position.seconds) / duration.amount

    def due(self, every: Duration, before: TrainingProgress, now: TrainingProgress) -> bool:
        """Whether the end of an interval of length `every` lies in (before, now]."""
        return math.floor(self.share(every, before)) < math.floor(self.share(every, now))

    def warmup_share(self, warmup: Duration | float, whole: Duration) -> float:
        """The share of a run of length `whole` that its warm-up takes, in [0, 1)."""
        if not isinstance(warmup, Duration):
            return warmup
        steps, all_steps = self.steps(warmup), self.steps(whole)
        if steps is not None and all_steps is not None:
            share = steps / all_steps
        elif warmup.unit == whole.unit:
            share = warmup.amount / whole.amount
        else:
            raise ConfigError(
                f"warmup: how much of a run of {whole.told()} the first {warmup.told()} are is not known in advance; "
                f"give the warm-up in {whole.unit}, or as a fraction"
            )
        if share >= 1:
            raise ConfigError(
                f"warmup: {warmup.told()} leaves nothing of a run of {whole.told()}; shorten it (train.warmup)"
            )
        return share


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
