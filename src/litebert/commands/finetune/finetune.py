"""Fine-tuning: from a pretrained model and labelled data to a run directory with the best model."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import nn

from litebert.analysis.curves import count_evaluations, read_curves
from litebert.commands.finetune.best_evaluation import BestEvaluation
from litebert.commands.finetune.comparison import Outcome, Scores, baseline_scores, remarks
from litebert.commands.finetune.data.dev_rows import write_dev_rows
from litebert.commands.finetune.data.task_objective import TaskObjective
from litebert.commands.finetune.earlier_run import (
    open_directory,
    validate_same_rows,
    validate_same_weights,
)
from litebert.commands.finetune.elastic_depth import (
    ElasticDepth,
    evaluate_depths,
    metrics_by_layers,
    selection_metric,
)
from litebert.commands.finetune.finetune_result import FinetuneResult, finetune_card, provenance
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.postprocessing.logit_adjustment import UNCHANGED, LogitAdjustment, adjusted_logits
from litebert.commands.finetune.postprocessing.postprocessing import FittedEvaluation, evaluate_fitted
from litebert.commands.finetune.start.finetune_start import FinetuneStart
from litebert.commands.finetune.start.start_model import output_names
from litebert.commands.runs.best_model import BestModel, evaluation_file
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.runs.run_log import RunLog, run_log
from litebert.commands.runs.run_precision import with_saved_precision
from litebert.errors import CheckpointError, ConfigError
from litebert.files import EVALUATION, README, write_text
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.pipeline import Pipeline
from litebert.inference.task_pipeline import ALONE, Workers
from litebert.model.encoder import encoder_of
from litebert.model.io.hub import local_model_directory
from litebert.model.io.model_directory import config_contents, save_model, spec_of
from litebert.model.param_groups import count_parameters
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_batches import LabelledBatches
from litebert.tasks.labelled_data import Task
from litebert.tasks.readers.columns import SavedTask
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.early_stopping import EarlyStopping
from litebert.training.callbacks.milestones import Milestones
from litebert.training.callbacks.stop_with_parent import stop_with_parent
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.trainer import RunInfo, Trainer, TrainResult

logger = logging.getLogger(__name__)
_MODEL_FINGERPRINT = "model_fingerprint"
_NO_EVALUATION = (
    "the run was shortened to before its first evaluation: raise train.duration, or start in a new directory"
)


def finetune(run: FinetuneRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> FinetuneResult:
    """Train on `run.data` and save the best model in `out`.

    An unfinished run in `out` is resumed; the result of a finished one is returned, unless its rows or the
    model that it started from have changed.
    """
    if local_model_directory(run.model).resolve() in (out.resolve(), RunDirectory(out).model.resolve()):
        raise ConfigError(f"out: {out} is the run of the model to start from; choose another --out")
    with run_log() as log, distributed_context(run.train) as world, run.compute.kernels():
        run = with_saved_precision(run, out, world)
        directory = world.on_rank_zero(lambda: open_directory(run, out))
        if done := directory.result(FinetuneResult):
            world.on_rank_zero(lambda: validate_same_rows(run, done, out))
            world.on_rank_zero(lambda: validate_same_weights(run, done, out))
            world.on_rank_zero(directory.write_changes)
            logger.info("%s: this run is finished; its result is returned", out)
            return done
        world.on_rank_zero(directory.validate_can_continue)
        return _train(run, directory, world, callbacks, log=log)


def _train(
    run: FinetuneRun,
    directory: RunDirectory,
    world: DistributedContext,
    callbacks: Sequence[Callback],
    *,
    log: RunLog,
) -> FinetuneResult:
    start = FinetuneStart.of(run, directory, world)
    run, data, pipeline, model = start.run, start.data, start.pipeline, start.pipeline.model
    world.on_rank_zero(lambda: _validate_same_examples(directory, start.dev))
    best = _best_model(start, directory, world)
    milestones = Milestones(directory.milestones, save=lambda model, path: _save_milestone(start, model, path))
    patience = run.early_stopping_patience
    selection = selection_metric(data.task.metric_for_best_model, run.elastic_depth)
    early_stopping = [EarlyStopping(patience, metric=selection)] if patience else []
    depths = run.elastic_depth
    elastic = [ElasticDepth(encoder_of(model), depths, seed=run.seed)] if depths else []
    trainer = Trainer(
        model,
        objective=TaskObjective(pipeline.task_type.loss, start.loss_weights),
        batches=LabelledBatches(
            pipeline.encode(data.train.examples),
            batch_size=run.batch_size,
            microbatch_size=run.microbatch_size,
            seed=run.seed,
            rank=world.rank,
            world_size=world.size,
        ),
        settings=run.train,
        run=_run_info(start, directory),
        evaluate=best.evaluate,
        callbacks=[best, milestones, *early_stopping, *elastic, *callbacks, *stop_with_parent(world)],
        lr_multipliers=start.lr_multipliers,
    )
    trainer.validate_checkpoint()
    # Everything is read and validated now; nothing was written so far.
    world.on_rank_zero(lambda: directory.begin(run, command="finetune"))
    baselines = world.on_rank_zero(lambda: baseline_scores(data) if run.baseline else {})
    trained = trainer.fit(on_locked=lambda: _continue(start, directory, log))
    return world.on_rank_zero(lambda: _finish(start, directory, trained, baselines))


def _run_info(start: FinetuneStart, directory: RunDirectory) -> RunInfo:
    data, pipeline = start.data, start.pipeline
    names, problem_type = output_names(data.task), pipeline.task_type.problem_type
    return RunInfo(
        directory=directory.path,
        seed=start.run.seed,
        fingerprint={
            "tokenizer": pipeline.tokenizer.fingerprint,
            "max_length": pipeline.settings.max_length,
            "development_examples": start.dev.encoded.fingerprint,
        },
        descriptions={
            "batches": f"the training rows of {data.train.path}, as tokens,",
            "development_examples": f"the development rows of {data.dev.path}, as tokens,",
            "tokenizer": "the vocabulary and settings of the tokenizer",
        },
        model_files={
            **config_contents(pipeline.model, labels=names, problem_type=problem_type),
            **_extra_files(data.task, pipeline, pipeline.settings),
        },
    )


def _validate_same_examples(directory: RunDirectory, dev: EvaluationSet) -> None:
    """Raise CheckpointError if the best model so far was chosen on other development examples.

    Without a checkpoint the run begins anew, and that model is forgotten.
    """
    if not directory.has_checkpoint or not (directory.model / EVALUATION).exists():
        return
    if _best_evaluation(directory).development_examples not in ("", dev.encoded.fingerprint):
        raise CheckpointError(
            f"{directory.path}: its best model was chosen on other development examples than those of {dev.data.path}, "
            "so their scores cannot be compared; restore the examples, or start in a new directory"
        )


def _continue(start: FinetuneStart, directory: RunDirectory, log: RunLog) -> None:
    """Without a checkpoint, nothing stays of the run there: it may have had another model and other rows."""
    run, data = start.run, start.data
    if not directory.has_checkpoint:
        directory.write_environment({**provenance(run, data), _MODEL_FINGERPRINT: start.model_fingerprint})
        if data.is_split:
            write_dev_rows(directory.path, data.train, data.dev)
    directory.continue_with(run, command="finetune")
    log.write_to(directory.log)


def _finish(start: FinetuneStart, directory: RunDirectory, trained: TrainResult, baselines: Scores) -> FinetuneResult:
    """The result, also written to the directory and to the card of the model."""
    run, data, pipeline = start.run, start.data, start.pipeline
    best = _best_evaluation(directory)
    if best.step > trained.steps:
        raise CheckpointError(
            f"{directory.model}: is of step {best.step}, the last step is {trained.steps}: {_NO_EVALUATION}"
        )
    as_saved = replace(pipeline, settings=pipeline.settings.with_metrics(best.metrics))
    losses = read_curves(directory.metrics).get("train/loss")  # None if no loss was finite
    outcome = Outcome(
        best=best,
        baselines=baselines,
        train_losses=losses.values if losses else (),
        steps=trained.steps,
        skipped_steps=trained.skipped_steps,
        hidden_size=spec_of(pipeline.model).config.hidden_size,
    )
    result = FinetuneResult(
        model=directory.model,
        task_type=data.task.task_type,
        reason=data.train.reason,
        train_examples=len(data.train.examples),
        max_length=pipeline.settings.max_length,
        steps=trained.steps,
        evaluations=count_evaluations(directory.metrics),
        elapsed_seconds=trained.elapsed_seconds,
        best=best,
        trained_parameters=count_parameters(pipeline.model)[0],
        stopped_early_at=trained.learning_rate if trained.stopped_early else None,
        baselines=baselines,
        remarks=remarks(run, data, outcome),
        by_layers=metrics_by_layers(directory.model, start.dev, as_saved, run.elastic_depth),
        rows=data.fingerprints,
        model_fingerprint=directory.recorded(_MODEL_FINGERPRINT),
    )
    write_text(directory.model / README, finetune_card(run, data, result, pipeline.model))
    directory.finish(result)
    return result


def _best_evaluation(directory: RunDirectory) -> BestEvaluation:
    return BestEvaluation.read(directory.model / EVALUATION, if_missing=f"it was removed, or {_NO_EVALUATION}")


def _best_model(
    start: FinetuneStart, directory: RunDirectory, world: DistributedContext
) -> BestModel[FittedEvaluation]:
    workers, task = Workers(world.rank, world.size, world.gather), start.data.task
    depths, metric = start.run.elastic_depth, task.metric_for_best_model

    def save(model: nn.Module, found: FittedEvaluation, step: int) -> None:
        best = BestEvaluation(
            step=step,
            metric=metric,
            evaluation=found.evaluation,
            development_examples=start.dev.encoded.fingerprint,
            temperature=found.adjustment.temperature,
            thresholds=found.thresholds,
            elastic_depth=depths,
        )
        of_best = replace(start.pipeline, model=model)
        _save(task, of_best, directory.model, adjustment=found.adjustment, best=best)

    return BestModel(
        lambda model: _evaluate(start, model, workers),
        metric=selection_metric(metric, depths),
        greater_is_better=True,
        directory=directory.model,
        world=world,
        save=save,
    )


def _evaluate(start: FinetuneStart, model: nn.Module, workers: Workers) -> FittedEvaluation:
    """The scores on the development examples, with each number of layers."""
    return evaluate_depths(
        lambda: _evaluate_depth(start, model, workers),
        encoder_of(model),
        start.run.elastic_depth,
        metric=start.data.task.metric_for_best_model,
    )


def _evaluate_depth(start: FinetuneStart, model: nn.Module, workers: Workers = ALONE) -> FittedEvaluation:
    """The scores with the layers that the encoder runs."""
    run, pipeline = start.run, replace(start.pipeline, model=model)
    return evaluate_fitted(start.dev, pipeline, workers, calibrate=run.calibrate, tune_thresholds=run.tune_thresholds)


def _save_milestone(start: FinetuneStart, model: nn.Module, directory: Path) -> None:
    """A milestone is adjusted by itself: the last evaluation was of an earlier step."""
    is_adjusted = start.run.calibrate or start.run.tune_thresholds
    adjustment = _evaluate_depth(start, model).adjustment if is_adjusted else UNCHANGED
    _save(start.data.task, replace(start.pipeline, model=model), directory, adjustment=adjustment)


def _save(
    task: Task, pipeline: Pipeline, directory: Path, *, adjustment: LogitAdjustment, best: BestEvaluation | None = None
) -> None:
    """Replace the model directory; without an evaluation, settings such as thresholds keep their defaults."""
    settings = pipeline.settings.with_metrics(best.metrics) if best else pipeline.settings
    with adjusted_logits(pipeline.model, adjustment):
        save_model(
            pipeline.model,
            directory,
            labels=output_names(task),
            problem_type=pipeline.task_type.problem_type,
            extra_files={
                **_extra_files(task, pipeline, settings),
                **(evaluation_file(best.to_dict()) if best else {}),
            },
        )


def _extra_files(task: Task, pipeline: Pipeline, settings: InputSettings) -> dict[str, bytes]:
    """What a model directory has beside config and weights: the vocabulary, settings and the task."""
    saved = SavedTask.of(task, with_columns=pipeline.task_type.reader.saves_columns)
    return {**pipeline.tokenizer.files(max_length=settings.max_length), **settings.model_files(), **saved.files()}
