"""Runs that do not learn. Before: a step's losses, and what knowing nothing would lose. After: one warning."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

logger = logging.getLogger(__name__)

_STEPS, _SHARE = 200, 0.02
"""A stretch is so many steps and such a share of the run: long runs leave their plateau later than short ones."""
_AT_BASELINE, _STILL_FALLING = 0.97, 0.99
"""Losses above that share of the baseline, and of the stretch before, are no progress."""


@dataclass(slots=True)
class _Stretch:
    began: float = 0.0
    """Progress of the run at its first step."""
    steps: int = 0
    total: float = 0.0
    previous: float | None = None
    """Mean loss of the stretch before."""
    told: bool = False


class PlateauDetector:
    """Compares the mean of each named loss, stretch by stretch, with its baseline; speaks once of each."""

    def __init__(self, baselines: Mapping[str, float]) -> None:
        self._baselines = dict(baselines)
        self._stretches = {name: _Stretch() for name in baselines}

    def saw(self, losses: Mapping[str, float], *, progress: float) -> list[str]:
        """Count a step at `progress`, the share of the run that is done; the names whose warning is due now."""
        due = []
        for name, stretch in self._stretches.items():
            stretch.began = stretch.began if stretch.steps else progress
            stretch.steps += 1
            stretch.total += losses[name]
            if stretch.steps >= _STEPS and progress - stretch.began >= _SHARE and self._ended(name, stretch):
                due.append(name)
        return due

    def warn(self, name: str) -> None:
        """Say it, with the likely causes."""
        logger.warning(
            "the %s loss stays at %.3f, no better than knowing only how often each answer occurs (%.3f): so far the "
            "model does not learn. Likely causes: a learning rate too high, or too low, for this batch size and "
            "optimizer; too short a warm-up; initial weights too small for a small model; inputs without what the "
            "answers depend on. A deep model may only need more steps",
            *(name, self._stretches[name].previous, self._baselines[name]),
        )

    def state(self) -> dict[str, Any]:
        """What a continued run needs in order to speak at the same step, and not twice."""
        return {name: asdict(stretch) for name, stretch in self._stretches.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` gave, for the baselines there are now."""
        self._stretches |= {name: _Stretch(**state[name]) for name in self._stretches.keys() & state.keys()}

    def _ended(self, name: str, stretch: _Stretch) -> bool:
        """Begin the next stretch; whether this one was the first without progress."""
        mean, before = stretch.total / stretch.steps, stretch.previous
        stretch.steps, stretch.total, stretch.previous = 0, 0.0, mean
        stuck = before is not None and mean > _AT_BASELINE * self._baselines[name] and mean > _STILL_FALLING * before
        first = stuck and not stretch.told
        stretch.told |= stuck
        return first
