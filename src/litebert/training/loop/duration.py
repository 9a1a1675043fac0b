"""Durations in settings: one value with a unit, such as `2000 steps` or `5 minutes`."""

import math
import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import CoreSchema, core_schema

from litebert.errors import ConfigError
from litebert.logs import readable_seconds

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
_PATTERN = re.compile(r"\s*([0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([kMB]?)\s+([a-z]+?)s?\s*")
_EXPECTED = (
    "a positive number and a unit: '2000 steps', '1e6 examples', '30M tokens', '3 epochs', "
    "'90 seconds', '5 minutes', '2 hours'"
)


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
        amount = float(match[1]) * _SUFFIXES[match[2]] * factor
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
