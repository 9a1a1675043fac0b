"""Plateau detection: warns of a run that does not learn."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from litebert.training.callbacks.callback import Callback, RunState, StepRecord

logger = logging.getLogger(__name__)

_STEPS, _FRACTION = 200, 0.02
"""Smallest window, in steps and as a fraction of the run: long runs leave their plateau later than short ones."""
_AT_BASELINE, _STILL_FALLING = 0.97, 0.99
"""A loss above this share of its baseline, and of its mean in the window before, is on a plateau."""


@dataclass(slots=True)
class _Window:
    start: float = 0.0
    """Fraction of the run that was done at its first step."""
    steps: int = 0
    total: float = 0.0
    previous_mean: float | None = None
    warned: bool = False


class PlateauDetector(Callback):
    """Warns once of each loss whose mean over a window stays at its baseline after warm-up.

    `baselines` maps names of losses to the loss of a model that ignores its inputs.
    """

    def __init__(self, baselines: Mapping[str, float]) -> None:
        self._baselines = dict(baselines)
        self._windows = {name: _Window() for name in baselines}

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Count the step, unless it is in the warm-up or was skipped."""
        fraction = run.schedule.fraction(run.progress)
        if record.outcome.applied and fraction > run.schedule.warmup:
            for name in self.update(record.outcome.losses, fraction=fraction):
                self._warn(name)

    def update(self, losses: Mapping[str, float], *, fraction: float) -> list[str]:
        """Count a step at `fraction` of the run, which may lack a loss.

        Returns the names of the losses found on a plateau for the first time.
        """
        found = []
        for name in self._windows.keys() & losses.keys():
            window = self._windows[name]
            window.start = window.start if window.steps else fraction
            window.steps += 1
            window.total += losses[name]
            if window.steps >= _STEPS and fraction - window.start >= _FRACTION and self._close(name, window):
                found.append(name)
        return found

    def state_dict(self) -> dict[str, Any]:
        """The windows by name of the loss."""
        return {name: asdict(window) for name, window in self._windows.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, for the current baselines."""
        self._windows |= {name: _Window(**state[name]) for name in self._windows.keys() & state.keys()}

    def _close(self, name: str, window: _Window) -> bool:
        """Begin the next window; whether the one that ends was on a plateau for the first time."""
        mean, before = window.total / window.steps, window.previous_mean
        window.steps, window.total, window.previous_mean = 0, 0.0, mean
        plateau = before is not None and mean > _AT_BASELINE * self._baselines[name] and mean > _STILL_FALLING * before
        first = plateau and not window.warned
        window.warned |= plateau
        return first

    def _warn(self, name: str) -> None:
        logger.warning(
            "the %s loss stays at %.3f, no better than its baseline of always predicting the label frequencies (%.3f): "
            "the model does not learn yet. Likely causes: a learning rate too high or too low for this batch size and "
            "optimizer; too short a warm-up; initial weights too small for a small model; inputs that do not contain "
            "what the labels depend on. A deep model may only need more steps",
            name,
            self._windows[name].previous_mean,
            self._baselines[name],
        )
