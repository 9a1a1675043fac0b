"""Fewer layers in the first part of a run: they read more text in the same time, and the others share their weights."""

import logging

from litebert.commands.pretrain.pretrain_settings import ProgressiveDepth
from litebert.commands.pretrain.pretraining_objective import training_flops
from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.model.encoder import Encoder
from litebert.model.sharing_schedule import evenly_spaced_layers
from litebert.training.callbacks.callback import Callback, RunState, StepRecord

logger = logging.getLogger(__name__)


class ProgressiveLayers(Callback):
    """Sets which layers an encoder trains, by the fraction of the run that is done; a run has two parts.

    Nothing of it is saved: a run that is resumed or rolled back has the layers of its progress. Source: progressive
    stacking (Gong et al. 2019), where the new layers begin as copies; here they have the weights of their group.
    """

    every_rank = True

    def __init__(self, encoder: Encoder, settings: ProgressiveDepth) -> None:
        self._encoder, self._settings = encoder, settings
        self._first = evenly_spaced_layers(encoder.config, settings.initial_layers)

    def on_train_begin(self, run: RunState) -> None:
        """Set the layers of the first step."""
        self._set(run)

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Set the layers of the next step."""
        if self._set(run) and run.world.rank == 0:
            logger.info("from step %d on all %d layers are trained", record.step + 1, len(self._encoder.schedule))

    def on_rollback(self, run: RunState) -> None:
        """Set the layers of the checkpoint."""
        self._set(run)

    def flops(self, batch: PretrainBatch) -> int:
        """FLOPs of forward and backward with the layers that are trained now."""
        config = self._encoder.config
        all_layers = self._encoder.training_layers is None
        return training_flops(config if all_layers else self._settings.first_config(config), batch)

    def _set(self, run: RunState) -> bool:
        """Whether the layers are others than before."""
        before = self._encoder.training_layers
        run.part = int(run.schedule.fraction(run.progress) >= self._settings.fraction)
        self._encoder.training_layers = None if run.part else self._first
        return self._encoder.training_layers != before
