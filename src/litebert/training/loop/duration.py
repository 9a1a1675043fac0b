"""Durations in settings: one value with a unit, such as `2000 steps` or `5 minutes`."""

import math
import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import CoreSchema, core_schema

from litebert.errors import ConfigError
from litebert.logs import readable_seconds
from litebert.training.loop.progress import TrainingProgress

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
    """Number of units; minutes, hours and days are converted to seconds."""
    unit: str
    """`steps`, `examples`, `tokens`, `epochs` or `seconds`."""

    @classmethod
    def parse(cls, value: Any) -> "Duration":
        """Parse a text such as `5 minutes`; a ConfigError for anything else."""
        if isinstance(value, cls):
            return value
        match = _PATTERN.fullmatch(value) if isinstance(value, str) else None
        if match is None or match[3] not in _UNITS:
            raise ConfigError(f"{value!r} is not a duration: expected {_EXPECTED}")
        unit, factor = _UNITS[match[3]]
        amount = _number(match[1]) * _SUFFIXES[match[2]] * factor
        if not 0 < amount < math.inf:
            raise ConfigError(f"{value!r} is not a duration: expected {_EXPECTED}")
        return cls(amount, unit)

    def __str__(self) -> str:
        """The text in settings files; `parse` is its inverse."""
        return f"{int(self.amount) if self.amount.is_integer() else self.amount} {self.unit}"

    def to_text(self) -> str:
        """The duration in a message: `45 min` where `str` gives `2700 seconds`."""
        if self.unit == "seconds":
            return readable_seconds(self.amount)
        return f"{self.amount:,.10g} {self.unit if self.amount != 1 else self.unit[:-1]}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Read durations from text in settings files, and write them as text."""
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            json_schema_input_schema=core_schema.str_schema(),
            serialization=core_schema.to_string_ser_schema(),
        )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


@dataclass(frozen=True, slots=True)
class DurationConverter:
    """Compares the progress of a run with durations, for one source of batches."""

    batch_size: int
    examples_per_epoch: int

    def steps(self, duration: Duration) -> int | None:
        """Steps that `duration` takes, rounded up; None where the steps are not known in advance (tokens, seconds)."""
        examples = {"examples": 1, "epochs": self.examples_per_epoch, "steps": self.batch_size}.get(duration.unit)
        return None if examples is None else math.ceil(round(duration.amount * examples / self.batch_size, 9))

    def fraction(self, duration: Duration, progress: TrainingProgress) -> float:
        """`progress` as a fraction of `duration`: 0 at the start, 1 at the end, more after it."""
        steps = self.steps(duration)
        if steps is not None:
            return progress.step / steps
        return (progress.tokens if duration.unit == "tokens" else progress.seconds) / duration.amount

    def due(self, every: Duration, before: TrainingProgress, now: TrainingProgress) -> bool:
        """Whether the end of an interval of length `every` lies in (before, now]."""
        return math.floor(self.fraction(every, before)) < math.floor(self.fraction(every, now))

    def warmup_fraction(self, warmup: Duration | float, whole: Duration) -> float:
        """The fraction of a run of length `whole` that its warm-up takes, in [0, 1)."""
        if not isinstance(warmup, Duration):
            return warmup
        steps, all_steps = self.steps(warmup), self.steps(whole)
        if steps is not None and all_steps is not None:
            fraction = steps / all_steps
        elif warmup.unit == whole.unit:
            fraction = warmup.amount / whole.amount
        else:
            raise ConfigError(
                f"warmup: {warmup.to_text()} as a fraction of {whole.to_text()} is not known in advance; "
                f"give the warm-up in {whole.unit}, or as a fraction"
            )
        if fraction >= 1:
            raise ConfigError(
                f"warmup: {warmup.to_text()} leaves nothing of a run of {whole.to_text()}; shorten it (train.warmup)"
            )
        return fraction
