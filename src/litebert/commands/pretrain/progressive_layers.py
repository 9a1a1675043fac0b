"""Fewer layers in the first part of a run: they read more text in the same time, and the others share their weights."""

import logging

from litebert.commands.pretrain.pretrain_settings import FirstPart
from litebert.commands.pretrain.pretraining_objective import training_flops
from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.model.encoder import Encoder
from litebert.model.sharing_schedule import sharing_schedule
from litebert.training.callbacks.callback import Callback, RunState, StepRecord

logger = logging.getLogger(__name__)

FEWER_LAYERS = 1
"""`RunState.part` of the first part; that of the second is 0, as in a run that trains all layers throughout."""


class ProgressiveLayers(Callback):
    """Sets which layers an encoder trains, by the fraction of the run that is done, as the learning rate is set.

    Nothing of it is saved: a run that is resumed or rolled back has the layers of its progress. A rollback returns to
    the steps of a checkpoint, but not to its time. So a run whose duration is a time never trains fewer layers again
    once its first part has ended, also from a checkpoint before that end: fewer layers up to the same step as before
    would take time from the second part, and after a late rollback all of it. Source: progressive stacking (Gong et
    al. 2019), where the new layers begin as copies; here they have the weights of their group.
    """

    every_rank = True

    def __init__(self, encoder: Encoder, first: FirstPart) -> None:
        self._encoder, self._first = encoder, first
        self._first_schedule = sharing_schedule(first.config)

    def on_train_begin(self, run: RunState) -> None:
        """Set the layers of the first step."""
        self._set(run)

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Set the layers of the next step."""
        if run.rollback:
            return  # the next step is one after the checkpoint: `on_rollback`
        before = run.part
        self._set(run)
        if run.part != before:
            self._log(run)

    def on_rollback(self, run: RunState) -> None:
        """Set the layers of the first step after the checkpoint, by the time that has passed if the run has one."""
        self._set(run)
        self._log(run)

    def flops(self, batch: PretrainBatch) -> int:
        """FLOPs of forward and backward with the layers that are trained now."""
        is_first = self._encoder.training_schedule is not None
        return training_flops(self._first.config if is_first else self._encoder.config, batch)

    def _set(self, run: RunState) -> None:
        is_first = run.schedule.fraction(run.progress) < self._first.fraction
        run.part = FEWER_LAYERS if is_first else 0
        self._encoder.training_schedule = self._first_schedule if is_first else None

    def _log(self, run: RunState) -> None:
        if run.world.rank > 0 or run.schedule.done(run.progress):
            return
        layers = self._encoder.config.num_hidden_layers
        trained = self._first.config.num_hidden_layers if run.part == FEWER_LAYERS else layers
        logger.info("from step %d on %d of %d layers are trained", run.progress.step + 1, trained, layers)
