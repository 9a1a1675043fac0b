"""The share of tokens to predict, constant or as a linear schedule over the steps of a run."""

import re
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import AfterValidator

from litebert.errors import ConfigError

_SCHEDULE = re.compile(r"\s*([0-9.]+)\s+to\s+([0-9.]+)\s+in\s+([0-9_]+)\s+steps\s*")
_EXPECTED = "expected a probability between 0 and 1, or a linear schedule such as '0.3 to 0.15 in 100000 steps'"


@dataclass(frozen=True)
class LinearSchedule:
    """A value that moves linearly from `start` to `end` during the first `steps` steps and is constant afterwards."""

    start: float
    end: float
    steps: int

    @classmethod
    def parse(cls, value: float | str) -> Self:
        """The schedule for a constant, or for a text such as `0.3 to 0.15 in 100000 steps`."""
        if isinstance(value, str) and (match := _SCHEDULE.fullmatch(value)):
            start, end, steps = match.groups()
        else:
            start, end, steps = value, value, 0
        try:
            schedule = cls(float(start), float(end), int(steps))
        except ValueError:
            raise ConfigError(_EXPECTED) from None
        if not (0 < schedule.start < 1 and 0 < schedule.end < 1):
            raise ConfigError(_EXPECTED)
        return schedule

    def at(self, step: int) -> float:
        """The value at a step, counted from 0."""
        return self.end if step >= self.steps else self.start + (self.end - self.start) * step / self.steps


def _validate(value: float | str) -> float | str:
    LinearSchedule.parse(value)
    return value


MlmProbability = Annotated[float | str, AfterValidator(_validate)]
