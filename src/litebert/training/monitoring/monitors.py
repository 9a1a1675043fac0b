"""What keeps an eye on a run: its spikes, its plateaus, its patience. Before: steps, evaluations. After: `trainer.py`.

One object for the three, so that the trainer tells it what happened, asks it what to do, and keeps one state.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from litebert.training.loop.duration import TrainingProgress
from litebert.training.loop.run_schedule import RunSchedule
from litebert.training.loop.step import StepOutcome
from litebert.training.monitoring.early_stopping import EarlyStopping
from litebert.training.monitoring.plateau_detector import PlateauDetector
from litebert.training.monitoring.spike_detector import Limits, SpikeDetector, StepReport
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)


class Watcher(Protocol):
    """Something that remembers what a run has shown so far."""

    def state(self) -> dict[str, Any]:
        """What a continued run needs in order to decide alike, ready for JSON."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` gave."""
        ...


class Monitors:
    """Sees every step and evaluation; says what the next step may not exceed, and when to go back or to end."""

    def __init__(
        self, plan: RunSchedule, *, baselines: Mapping[str, float], patience: EarlyStopping, silent: bool
    ) -> None:
        """`silent` ones decide as the others do, and warn of nothing."""
        self._plan, self._silent = plan, silent
        self._spikes = SpikeDetector(plan.settings.spikes)
        self._plateau = PlateauDetector(baselines)
        self._patience = patience
        self._all: dict[str, Watcher] = {"spikes": self._spikes, "plateau": self._plateau, "patience": patience}
        self._fresh = self.state()

    @property
    def limits(self) -> Limits:
        """What the next step may not exceed."""
        return self._spikes.limits

    @property
    def out_of_patience(self) -> bool:
        """Whether the evaluations no longer get better, so that the run should end."""
        return self._patience.exhausted

    def saw_step(self, outcome: StepOutcome, *, before: TrainingProgress, now: TrainingProgress) -> None:
        """Remember what tells a spike from a step, and a plateau from progress; warn of either."""
        report = StepReport(
            step=now.step,
            batch=before.batch,
            applied=outcome.applied,
            loss=outcome.loss,
            losses=outcome.losses,
            grad_norm=outcome.grad_norm,
            learning_rate=self._plan.learning_rate(before),
            limits=outcome.limits,
        )
        self._spikes.saw(report)
        progress = self._plan.progress(now)
        warmed_up = outcome.applied and progress > self._plan.warmup
        stuck = self._plateau.saw(outcome.losses, progress=progress) if warmed_up else []
        if self._silent:
            return
        if not outcome.applied:
            logger.warning("%s", report.to_text())
        for name in stuck:
            self._plateau.warn(name)

    def saw_evaluation(self, values: Mapping[str, Number]) -> None:
        """Count an evaluation for the patience."""
        self._patience.saw(values)

    def too_many_spikes(self, position: TrainingProgress) -> bool:
        """Whether so many steps before `position` were left out that the run cannot go on like this."""
        skipped, settings = position.skipped_in_a_row, self._plan.settings
        at_once = skipped > 0 and settings.spikes.policy == "stop" and self._spikes.last_was_finite
        return at_once or skipped > settings.max_consecutive_skipped_steps

    def may_go_back(self, position: TrainingProgress) -> bool:
        """Whether the settings let the run return to a checkpoint once more."""
        spikes = self._plan.settings.spikes
        return spikes.policy == "rollback" and position.rollbacks < spikes.max_rollbacks

    def dump(self, path: Path) -> None:
        """Write the steps seen last, for a person who looks for the cause of spikes."""
        self._spikes.dump(path)

    def state(self) -> dict[str, Any]:
        """What each of them needs in a continued run, by name."""
        return {name: watcher.state() for name, watcher in self._all.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` gave; one that was not there yet when it was kept begins anew."""
        for name, watcher in self._all.items():
            watcher.restore(state.get(name, self._fresh[name]))
