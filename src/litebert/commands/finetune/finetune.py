"""Fine-tuning: from a pretrained model and labelled data to a run directory with the best model."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter
from torch import nn

from litebert.commands.best_model import BestModel, Record, evaluation_file
from litebert.commands.compute import warn_slow_bf16, with_measured_precision, with_saved_precision
from litebert.commands.finetune.finetune_card import finetune_card
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.objective import TaskObjective
from litebert.commands.finetune.setup import class_weights, load_start, output_names, read_data, set_trainable
from litebert.commands.result import Result
from litebert.commands.run_directory import RunDirectory
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.pipeline import Pipeline, Workers
from litebert.logs import readable_seconds
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.param_groups import count_parameters
from litebert.tasks.labelled_batches import LabelledBatches
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.task import Task
from litebert.tasks.types.registry import get_task_type
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.early_stopping import EarlyStopping
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.trainer import RunInfo, Trainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FinetuneResult(Result):
    """The result of a finished run, also in its `result.json`."""

    model: Path
    task_type: str
    reason: str
    """Why the data was read as this task type."""
    train_examples: int
    steps: int
    elapsed_seconds: float
    best: dict[str, Any]
    """The evaluation of the best model: `step`, `metric_for_best_model` and the fields of `Evaluation`."""
    trained_parameters: int
    stopped_early_at: float | None
    """Learning rate at which early stopping ended the run; null if it did not."""

    def to_text(self) -> str:
        """The result as text."""
        evaluation = TypeAdapter(Evaluation).validate_python(self.best)
        early = (
            ""
            if self.stopped_early_at is None
            else f"\nstopped early at a learning rate of {self.stopped_early_at:.2g}, before the end of its schedule"
        )
        return (
            f"{self.task_type} ({self.reason}): {self.train_examples:,} examples, {self.steps:,} steps in "
            f"{readable_seconds(self.elapsed_seconds)}, {self.trained_parameters:,} parameters trained{early}\n"
            f"best at step {self.best['step']:,}: {evaluation.to_text()}\n"
            f"model: {self.model}"
        )


def finetune(run: FinetuneRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> FinetuneResult:
    """Train on `run.data` and save the best model in `out`.

    An unfinished run in `out` is resumed; the result of a finished one is returned.
    """
    with distributed_context(run.train) as world:
        run = with_saved_precision(run, out, world)
        allowed = run.train.allow_config_changes
        directory = world.on_rank_zero(lambda: RunDirectory.open(out, run, command="finetune", allowed=allowed))
        if done := directory.result(FinetuneResult):
            logger.info("%s: this run is finished; its result is returned", out)
            return done
        return _train(run, directory, world, callbacks)


def _train(
    run: FinetuneRun, directory: RunDirectory, world: DistributedContext, callbacks: Sequence[Callback]
) -> FinetuneResult:
    task, train, dev = read_data(run)
    weights = class_weights(run, train)
    tokenizer, model = load_start(run, task)
    run = with_measured_precision(run, cast(ModelConfig, model.config), world)
    world.on_rank_zero(lambda: warn_slow_bf16(run.train.precision, world.device))
    task_type = get_task_type(task.task_type)
    pipeline = Pipeline(
        model=model,
        tokenizer=tokenizer,
        task_type=task_type,
        labels=task.labels or (),
        settings=task_type.settings(max_length=run.max_length),
        precision=run.train.precision,
    )
    lr_multipliers = set_trainable(model, run)
    best = _best_model(run, task, dev, pipeline, directory=directory, world=world)
    trainer = Trainer(
        model,
        objective=TaskObjective(task_type.loss, weights),
        batches=_batches(run, train, pipeline, world),
        settings=run.train,
        run=RunInfo(
            directory=directory.path,
            seed=run.seed,
            fingerprint={"tokenizer": tokenizer.fingerprint, "max_length": run.max_length},
        ),
        evaluate=best.evaluate,
        callbacks=[best, *_early_stopping(run, task), *callbacks],
        lr_multipliers=lr_multipliers,
    )
    # Everything is read and validated now; nothing was written so far.
    world.on_rank_zero(lambda: directory.begin(run, command="finetune"))
    trained = trainer.fit()
    result = FinetuneResult(
        model=directory.model,
        task_type=task.task_type,
        reason=train.reason,
        train_examples=len(train.examples),
        steps=trained.steps,
        elapsed_seconds=trained.elapsed_seconds,
        best=world.on_rank_zero(best.saved),
        trained_parameters=count_parameters(model)[0],
        stopped_early_at=trained.learning_rate if trained.stopped_early else None,
    )
    world.on_rank_zero(lambda: directory.finish(result))
    return result


def _early_stopping(run: FinetuneRun, task: Task) -> list[Callback]:
    patience = run.early_stopping_patience
    return [EarlyStopping(patience, metric=task.metric_for_best_model)] if patience else []


def _best_model(
    run: FinetuneRun,
    task: Task,
    dev: LabelledData,
    pipeline: Pipeline,
    *,
    directory: RunDirectory,
    world: DistributedContext,
) -> BestModel:
    examples = EvaluationSet.prepare(dev, task, pipeline)
    workers = Workers(world.rank, world.size, world.gather)

    def evaluate(model: nn.Module) -> Record:
        return examples.score(replace(pipeline, model=model), workers=workers).evaluation.to_dict()

    return BestModel(
        evaluate,
        metric=task.metric_for_best_model,
        directory=directory.model,
        world=world,
        save=lambda model, record: _save(run, task, record, replace(pipeline, model=model), directory),
    )


def _batches(run: FinetuneRun, train: LabelledData, pipeline: Pipeline, world: DistributedContext) -> LabelledBatches:
    return LabelledBatches(
        pipeline.encode(train.examples),
        batch_size=run.batch_size,
        microbatch_size=run.microbatch_size,
        seed=run.seed,
        rank=world.rank,
        world_size=world.size,
    )


def _save(run: FinetuneRun, task: Task, record: Record, pipeline: Pipeline, directory: RunDirectory) -> None:
    """Replace the model directory."""
    files = {
        **pipeline.tokenizer.files(),
        **pipeline.settings.with_metrics(record["metrics"]).model_files(),
        **SavedTask.of(task, with_columns=pipeline.task_type.reader.saves_columns).files(),
        "README.md": finetune_card(run, task, record, pipeline.model).encode(),
        **evaluation_file(record),
    }
    save_model(
        pipeline.model,
        directory.model,
        labels=output_names(task),
        problem_type=pipeline.task_type.problem_type,
        extra_files=files,
    )
