"""Models of chosen points of a training run, each kept in a directory of its own."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.loop.run_schedule import TrainingProgress

logger = logging.getLogger(__name__)


class Milestones(Callback):
    """Saves the model as `DIRECTORY/step-NNNNNNNN` after a step that reaches one of `train.milestones`.

    The model is saved before the checkpoint of the same step, so a run that is killed in between saves it again.
    """

    every_rank = True

    def __init__(
        self,
        directory: Path,
        *,
        save: Callable[[nn.Module, Path], object],
        gather: Callable[[nn.Module], nn.Module] = lambda model: model,
    ) -> None:
        """`gather` returns the model with all its weights and is called on every process; `save` on the first one."""
        self._directory, self._save, self._gather = directory, save, gather
        self._before = TrainingProgress()
        self._saved: set[str] = set()

    def on_train_begin(self, run: RunState) -> None:
        """Warn of milestones that the part of the run that is resumed has passed, but did not have."""
        passed = [str(each) for each in run.schedule.milestones_between(self._before, run.progress)]
        self._before = run.progress
        missed = [each for each in passed if each not in self._saved]
        if not self._saved and len([*self._directory.glob("step-*")]) >= len(passed):
            return  # checkpoints of earlier versions do not say what was saved
        if missed and run.world.rank == 0:
            logger.warning(
                "train.milestones: the run is at step %d already, so the models of %s are not saved; checkpoints that "
                "are still there are models too",
                run.progress.step,
                ", ".join(missed),
            )

    def on_rollback(self, run: RunState) -> None:
        """Milestones after the checkpoint are reached again."""
        self._before = run.progress

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Save the model if the step reached a milestone."""
        before, self._before = self._before, run.progress
        if reached := run.schedule.milestones_between(before, run.progress):
            model = self._gather(run.model)
            run.world.on_rank_zero(lambda: self._save(model, self._directory / f"step-{record.step:08d}"))
            self._saved.update(map(str, reached))

    def state_dict(self) -> dict[str, Any]:
        """The milestones whose models were saved; their steps are not known in advance if they are in tokens."""
        return {"saved": sorted(self._saved)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._saved = set(state["saved"])
