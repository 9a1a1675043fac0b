"""Models of chosen points of a training run, each kept in a directory of its own."""

from collections.abc import Callable
from pathlib import Path

from torch import nn

from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.loop.run_schedule import TrainingProgress


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

    def on_train_begin(self, run: RunState) -> None:
        """Milestones before this point were saved by the part of the run that is resumed."""
        self._before = run.progress

    def on_rollback(self, run: RunState) -> None:
        """Milestones after the checkpoint are reached again."""
        self._before = run.progress

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Save the model if the step reached a milestone."""
        before, self._before = self._before, run.progress
        if run.schedule.reaches_milestone(before, run.progress):
            model = self._gather(run.model)
            run.world.on_rank_zero(lambda: self._save(model, self._directory / f"step-{record.step:08d}"))
