"""Fine-tuning, start to finish. Before: a model directory and a labelled file. After: a run directory, the best model.

Nothing starts from random weights unless the settings say so, but the new head.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from torch import nn

from litebert.commands.finetune.class_weights import class_weights
from litebert.commands.finetune.finetune_card import card
from litebert.commands.finetune.finetune_data import read_data
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.finetune_start import output_names, start
from litebert.commands.finetune.labelled_set import BestModel, LabelledSet
from litebert.commands.finetune.objectives import objective_of
from litebert.commands.finetune.set_trainable import set_trainable
from litebert.commands.result import Result
from litebert.commands.run_directory import RunDirectory
from litebert.durations import readable_seconds
from litebert.model.io.model_directory import save_model
from litebert.model.param_groups import count_parameters
from litebert.tasks.labelled_batches import LabelledBatches
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.readers.columns import SavedColumns
from litebert.tasks.task_type import QUESTIONS, Kind, Task
from litebert.tasks.types.registry import KINDS
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.early_stopping import EarlyStopping
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.trainer import RunInfo, Trainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FinetuneResult(Result):
    """What a finished run reports; also the content of its `result.json`."""

    model: Path
    kind: Kind
    reason: str
    """Why the rows were taken as this kind."""
    train_examples: int
    steps: int
    elapsed_seconds: float
    best: dict[str, Any]
    """The evaluation of the kept model: `step`, `metrics` and what `tasks.evaluation.Evaluation` says."""
    trained_parameters: int
    stopped_early_at: float | None
    """Learning rate at which the run ran out of patience; null for one that went to its end."""

    def to_text(self) -> str:
        """The result for a person."""
        evaluation = TypeAdapter(Evaluation).validate_python(self.best)
        early = (
            ""
            if self.stopped_early_at is None
            else f"\nearly stopping; the learning rate, whose schedule is that of the whole duration, "
            f"was still {self.stopped_early_at:.2g}"
        )
        return (
            f"{self.kind.replace('_', ' ')} ({self.reason}): {self.train_examples:,} rows, {self.steps:,} steps in "
            f"{readable_seconds(self.elapsed_seconds)}, {self.trained_parameters:,} parameters trained{early}\n"
            f"best at step {self.best['step']:,}: {evaluation.to_text()}\n"
            f"model: {self.model}"
        )


def finetune(run: FinetuneRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> FinetuneResult:
    """Train on `run.data` and leave the best model; a run that `out` holds goes on, a finished one is given back."""
    with distributed_context(run.train) as world:
        allowed = run.train.allow_config_changes
        directory = world.on_rank_zero(lambda: RunDirectory.open(out, run, kind="finetune", allowed=allowed))
        if done := directory.result(FinetuneResult):
            logger.info("%s: this run is finished; nothing is trained again", out)
            return done
        return _train(run, directory, world, callbacks)


def _train(
    run: FinetuneRun, directory: RunDirectory, world: DistributedContext, callbacks: Sequence[Callback]
) -> FinetuneResult:
    task, train, dev = read_data(run)
    weights = class_weights(run.class_weights, train)
    tokenizer, model = start(run, task)
    lr_multipliers = set_trainable(model, run)
    best = BestModel(
        LabelledSet.prepare(dev, task, tokenizer, max_length=run.max_length),
        directory.model,
        world=world,
        precision=run.train.precision,
        save=lambda evaluation: _save(run, task, evaluation, model, tokenizer, directory),
    )
    trainer = Trainer(
        model,
        objective=objective_of(task.kind, weights),
        batches=_batches(run, task, train, tokenizer, world),
        settings=run.train,
        run=RunInfo(
            directory=directory.path,
            seed=run.seed,
            fingerprint={"tokenizer": tokenizer.fingerprint, "max_length": run.max_length},
        ),
        evaluate=best.measure,
        callbacks=[best, *_early_stopping(run, task), *callbacks],
        lr_multipliers=lr_multipliers,
    )
    # All that the settings name is open now and fits together; so far nothing was written.
    world.on_rank_zero(lambda: directory.begin(run, kind="finetune"))
    trained = trainer.fit()
    result = FinetuneResult(
        model=directory.model,
        kind=task.kind,
        reason=train.reason,
        train_examples=len(train.examples),
        steps=trained.steps,
        elapsed_seconds=trained.elapsed_seconds,
        best=world.on_rank_zero(best.kept),
        trained_parameters=count_parameters(model)[0],
        stopped_early_at=trained.learning_rate if trained.stopped_early else None,
    )
    world.on_rank_zero(lambda: directory.finish(result))
    return result


def _early_stopping(run: FinetuneRun, task: Task) -> list[Callback]:
    return [EarlyStopping(run.patience, metric=task.metric_for_best_model)] if run.patience else []


def _batches(
    run: FinetuneRun, task: Task, train: LabelledData, tokenizer: Tokenizer, world: DistributedContext
) -> LabelledBatches:
    return LabelledBatches(
        KINDS[task.kind].encode(train.examples, tokenizer, max_length=run.max_length),
        batch_size=run.batch_size,
        microbatch_size=run.microbatch_size,
        seed=run.seed,
        rank=world.rank,
        world_size=world.size,
    )


def _save(
    run: FinetuneRun,
    task: Task,
    evaluation: Mapping[str, Any],
    model: nn.Module,
    tokenizer: Tokenizer,
    directory: RunDirectory,
) -> None:
    """Write the model directory of the best evaluation so far over the one before."""
    files = {
        **tokenizer.files(),
        **KINDS[task.kind].keeps(run.max_length, evaluation["metrics"]),
        **({} if task.kind in QUESTIONS else SavedColumns.of(task).files()),
        "README.md": card(run, task, evaluation, model).encode(),
        BestModel.EVALUATION: (json.dumps(evaluation, indent=2, ensure_ascii=False) + "\n").encode(),
    }
    problem_type = KINDS[task.kind].problem_type
    save_model(model, directory.model, labels=output_names(task), problem_type=problem_type, extra_files=files)
