"""How much of the text is hidden, at each step of a run. Before: settings. After: masking."""

import re
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import AfterValidator

from litebert.errors import ConfigError

_RAMP = re.compile(r"\s*([0-9.]+)\s+to\s+([0-9.]+)\s+in\s+([0-9_]+)\s+steps\s*")


@dataclass(frozen=True)
class LinearSchedule:
    """A share that moves from `start` to `end` in a straight line of `steps` steps, and then stays there."""

    start: float
    end: float
    steps: int

    @classmethod
    def parse(cls, value: float | str) -> Self:
        """A number, which holds at every step, or a text such as `0.3 to 0.15 in 100000 steps`."""
        if isinstance(value, str) and (match := _RAMP.fullmatch(value)):
            start, end, steps = match.groups()
        else:
            start, end, steps = value, value, 0
        try:
            ramp = cls(float(start), float(end), int(steps))
        except ValueError:
            raise ConfigError(_EXPECTED) from None
        if not (0 < ramp.start < 1 and 0 < ramp.end < 1):
            raise ConfigError(_EXPECTED)
        return ramp

    def at(self, step: int) -> float:
        """The share at a step, counted from 0."""
        return self.end if step >= self.steps else self.start + (self.end - self.start) * step / self.steps


_EXPECTED = "expected a share between 0 and 1, or a change of it such as '0.3 to 0.15 in 100000 steps'"


def _checked(value: float | str) -> float | str:
    LinearSchedule.parse(value)
    return value


MlmProbability = Annotated[float | str, AfterValidator(_checked)]
