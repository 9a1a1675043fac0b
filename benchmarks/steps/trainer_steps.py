"""Steps of the trainer on real text: the share of their time that is neither forward nor backward."""

import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatch, PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.loss_sums import LossSums
from litebert.model.config import ModelConfig
from litebert.model.models import ForPretraining
from litebert.settings import TrainingPrecision
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.train_settings import TrainSettings
from litebert.training.trainer import RunInfo, Trainer


class TimedObjective:
    """The pretraining objective, with the time of forward and backward."""

    def __init__(self, model: ForPretraining) -> None:
        self._objective = PretrainingObjective()
        self._began = self._ended = 0.0
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(self._mark)

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Those of the objective."""
        return self._objective.counts(batch)

    def __call__(self, model: torch.nn.Module, batch: PretrainBatch) -> LossSums:
        """Those of the objective; a forward begins."""
        self._began = time.perf_counter()
        return self._objective(model, batch)

    def _mark(self, parameter: Tensor) -> None:
        self._ended = time.perf_counter()

    def last_seconds(self) -> float:
        """From the beginning of the last forward to the last gradient of its backward."""
        return self._ended - self._began


def outside(
    directory: Path,
    config: ModelConfig,
    *,
    precision: TrainingPrecision,
    batch_size: int,
    length: int,
) -> str:
    """Share of a trained step that is neither forward nor backward: data, optimizer, records."""
    corpus, spans = Corpus.open(directory, "train"), []
    model = ForPretraining(config.replace(vocab_size=corpus.vocabulary.size), seed=0)
    watched, began = TimedObjective(model), time.perf_counter()

    class StepTimer(Callback):
        def on_step(self, run: RunState, record: StepRecord) -> None:
            nonlocal began
            now = time.perf_counter()
            spans.append((now - began, watched.last_seconds()))
            began = now

    values = {"duration": "8 steps", "learning_rate": 1e-4, "precision": precision, "device": "cpu"}
    batches = PretrainBatches(
        corpus, SamplingSettings(max_length=length), batch_size=batch_size, microbatch_size=batch_size, seed=0
    )
    with tempfile.TemporaryDirectory() as scratch:
        settings = TrainSettings.parse(values, where="benchmark")
        Trainer(
            model,
            objective=watched,
            batches=batches,
            settings=settings,
            run=RunInfo(directory=Path(scratch)),
            callbacks=[StepTimer()],
        ).fit()
    whole, inside = (sum(part) for part in zip(*spans[1:], strict=True))
    return (
        f"{len(spans) - 1} steps of the trainer on real text: {1e3 * whole / (len(spans) - 1):.0f} ms a step, "
        f"{1 - inside / whole:.1%} of it outside forward and backward"
    )
