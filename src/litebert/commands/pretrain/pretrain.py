"""Pretraining from start to finish: from a corpus directory to a run directory with a model."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from torch import nn

from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.pretrain.corpus_passes import corpus_passes, passes_text
from litebert.commands.pretrain.init_checkpoint import init_checkpoint_fingerprint
from litebert.commands.pretrain.pretrain_result import (
    PretrainResult,
    full_model,
    model_files,
    provenance,
    write_finished_run,
)
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective, training_flops
from litebert.commands.pretrain.progressive_layers import ProgressiveLayers
from litebert.commands.pretrain.validation import ValidationScores, ValidationSet
from litebert.commands.runs.best_model import BestModel, Metrics, evaluation_file, step_of_best
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.runs.run_log import RunLog, run_log
from litebert.commands.runs.run_precision import warn_slow_bf16, with_measured_precision, with_saved_precision
from litebert.corpus.statistics.token_frequency import unigram_entropy
from litebert.errors import CheckpointError
from litebert.model.io.model_directory import config_contents, load_model, save_model
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.milestones import Milestones
from litebert.training.callbacks.plateau_detector import PlateauDetector
from litebert.training.callbacks.stop_with_parent import stop_with_parent
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.loop.run_schedule import RunSchedule
from litebert.training.trainer import RunInfo, Trainer, TrainResult

logger = logging.getLogger(__name__)

_INIT_CHECKPOINT_FINGERPRINT = "init_checkpoint_fingerprint"
_VALIDATION_EXAMPLES = "validation_examples"
_INITIALIZATION = "initialization"
"""Entries of `environment.json`."""
_DRAWN_BY = ("sampling", "max_eval_examples", "eval_pair_objectives")
"""Settings that decide which validation examples there are, besides the corpus."""


def pretrain(run: PretrainRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> PretrainResult:
    """Train on `run.corpus` for `run.train.duration`; an unfinished run in `out` is resumed."""
    with run_log() as log:
        start = PretrainStart.of(run)
        with distributed_context(run.train) as world, run.compute.kernels():
            run = with_measured_precision(with_saved_precision(run, out, world), run.model, world)
            allowed = run.train.allow_config_changes
            directory = world.on_rank_zero(lambda: RunDirectory.open(out, run, command="pretrain", allowed=allowed))
            if result := directory.result(PretrainResult):
                world.on_rank_zero(lambda: _validate_same_inputs(start, result, out))
                world.on_rank_zero(directory.write_changes)
                logger.info("%s: the run is finished; returning its result", out)
                return result
            world.on_rank_zero(directory.validate_can_continue)
            world.on_rank_zero(lambda: warn_slow_bf16(run.train.precision, world.device))
            return _train(replace(start, run=run), directory, world, callbacks, log=log)


def _validate_same_inputs(start: PretrainStart, result: PretrainResult, out: Path) -> None:
    """Raise CheckpointError if documents or initial weights are not those of the finished run in `out`.

    Weights that are no longer there cannot be compared.
    """
    run, found = start.run, init_checkpoint_fingerprint(start.run.init_checkpoint)
    # Earlier versions recorded that of the corpus alone.
    if result.corpus not in ("", start.corpus.fingerprint, start.corpora_fingerprint):
        raise CheckpointError(
            f"{start.names_of_corpora}: the documents are not those that the finished run in {out} was trained on; "
            "restore them, or choose another --out"
        )
    if found and result.init_checkpoint not in ("", found):
        raise CheckpointError(
            f"init_checkpoint: {run.init_checkpoint}: its weights are not those that the finished run in {out} started "
            "from; restore them, or choose another --out"
        )


def _train(
    start: PretrainStart,
    directory: RunDirectory,
    world: DistributedContext,
    callbacks: Sequence[Callback],
    *,
    log: RunLog,
) -> PretrainResult:
    run = start.run
    weights = world.on_rank_zero(lambda: _weights_to_start_from(run, directory))
    model = start.model(directory, world).to(world.device)
    validation = None
    if run.max_eval_examples:
        drawn = (run.corpus, run.sampling, run.max_eval_examples)
        validation = ValidationSet(*drawn, run.train.precision, world, run.eval_pair_objectives)
    initial_scores = _initial_scores(start, directory, model, validation) if validation else None
    best = _best_model(start, validation, directory, initial_scores) if validation else None
    layers = ProgressiveLayers(model.encoder, run.first_part) if run.first_part else None
    batches = start.batches(world)
    trainer = Trainer(
        model,
        objective=PretrainingObjective(run.sampling.pairing),
        batches=batches,
        settings=run.train,
        run=_run_info(start, model, directory, layers),
        evaluate=best.evaluate if best else validation.evaluate if validation else None,
        callbacks=[
            PlateauDetector({"mlm": unigram_entropy(start.corpus)}),
            _milestones(run, directory, start.tokenizer),
            *([layers] if layers else []),
            *([best] if best else []),
            *callbacks,
            *stop_with_parent(world),
        ],
    )
    trainer.validate_checkpoint()
    # Everything that the settings name has been opened and validated; nothing was written until here.
    world.on_rank_zero(lambda: directory.begin(run, command="pretrain"))
    _log_passes(start, RunSchedule.of(run.train, batches))
    trained = trainer.fit(on_locked=lambda: _continue(directory, start, initial_scores, weights, log=log))
    return _finish(
        start,
        trained,
        model=model,
        directory=directory,
        world=world,
        validation=validation,
        initial_scores=initial_scores,
    )


def _log_passes(start: PretrainStart, schedule: RunSchedule) -> None:
    """How often the text is read, as far as it is known before the run."""
    passes = corpus_passes(start, schedule, steps=schedule.total_steps)
    text = "--dry-run estimates the passes over it" if passes is None else passes_text(passes)
    logger.info("%s: %s tokens; %s", start.run.corpus, f"{start.corpus.num_tokens:,}", text)


def _run_info(
    start: PretrainStart, model: nn.Module, directory: RunDirectory, layers: ProgressiveLayers | None
) -> RunInfo:
    run, tokenizer = start.run, start.tokenizer
    return RunInfo(
        directory=directory.path,
        seed=run.seed,
        fingerprint={
            "model": run.model,
            "corpus": start.corpus.fingerprint,
            "tokenizer": tokenizer.fingerprint,
        },
        descriptions={
            "batches": f"the examples that `sampling` draws from {start.names_of_corpora}",
            "corpus": f"the documents of {run.corpus}",
            "tokenizer": "the vocabulary and settings of the tokenizer",
        },
        model_files={**config_contents(model), **model_files(run, tokenizer)},
        flops=layers.flops if layers else partial(training_flops, run.model),
    )


def _finish(
    start: PretrainStart,
    trained: TrainResult,
    *,
    model: nn.Module,
    directory: RunDirectory,
    world: DistributedContext,
    validation: ValidationSet | None,
    initial_scores: ValidationScores | None,
) -> PretrainResult:
    """The result, also written to the directory with the best model, or the last one."""
    run = start.run
    last = full_model(model, run)
    steps = trained.steps
    best_place = world.on_rank_zero(lambda: _best_place(directory, steps)) if run.metric_for_best_model else None
    # Without an evaluation after a step, as in a run that was shortened to its checkpoint, the last model is the best.
    exported = load_model(best_place) if best_place else last
    if validation:
        logger.info("validation of the finished model, on at most %s examples", f"{validation.max_eval_examples:,}")
    scores = validation.score(exported.to(world.device)) if validation else None
    result = PretrainResult(
        model=directory.model,
        steps=trained.steps,
        tokens=trained.tokens,
        elapsed_seconds=trained.elapsed_seconds,
        step_seconds=trained.step_seconds,
        start=initial_scores,
        end=scores,
        corpus=start.corpora_fingerprint,
        init_checkpoint=_recorded_fingerprint(directory, run),
    )
    world.on_rank_zero(
        lambda: write_finished_run(
            result, run, exported=exported, best=best_place, last=last, tokenizer=start.tokenizer, directory=directory
        )
    )
    return result


def _weights_to_start_from(run: PretrainRun, directory: RunDirectory) -> str:
    """Fingerprint of the weights that a run begins with, before they are read; a resumed run reads none."""
    return "" if directory.has_checkpoint else init_checkpoint_fingerprint(run.init_checkpoint)


def _recorded_fingerprint(directory: RunDirectory, run: PretrainRun) -> str:
    """Fingerprint of the weights that the run began with; empty if `init_checkpoint` was another then."""
    is_same = directory.recorded(_INITIALIZATION) == provenance(run)[_INITIALIZATION]
    return directory.recorded(_INIT_CHECKPOINT_FINGERPRINT) if is_same else ""


def _best_model(
    start: PretrainStart, validation: ValidationSet, directory: RunDirectory, initial_scores: ValidationScores | None
) -> BestModel[Metrics] | None:
    """Saves the best model, if the settings select one."""
    run = start.run
    metric = run.metric_for_best_model
    if metric is None:
        return None
    validation.validate_metric(metric)
    if initial_scores:
        validation.validate_scored(metric, initial_scores)
    measured_on = _validation_examples(start)

    def save(model: nn.Module, scores: Metrics, step: int) -> None:
        described = {"step": step, "metric_for_best_model": metric, "measured_on": measured_on}
        evaluation = evaluation_file({**described, "metrics": dict(scores.metrics)})
        save_model(model, directory.best, extra_files={**model_files(run, start.tokenizer), **evaluation})

    return BestModel(
        lambda model: Metrics(validation.evaluate(model)),
        metric=metric,
        greater_is_better=not metric.endswith("loss"),
        directory=directory.best,
        earlier=directory.model,
        world=validation.world,
        save=save,
        gather=lambda model: full_model(model, run),
        measured_on=measured_on,
    )


def _validation_examples(start: PretrainStart) -> str:
    """Digest of what decides the validation examples."""
    # Without defaults, so that a later version with more settings has the same digest.
    drawn = start.run.model_dump(mode="json", include=set(_DRAWN_BY), exclude_defaults=True)
    return fingerprint_of({"corpus": start.corpus.fingerprint, **drawn})


def _best_place(directory: RunDirectory, steps: int) -> Path | None:
    """Where the best model is: in `best/`, or in `model/` of a run that was finished before, which `last/` reveals.

    None if both are of a step after the `steps` of the run, which `BestModel` forgets too.
    """
    was_finished = directory.last.is_dir() and directory.model.is_dir()
    places = [*([directory.best] if directory.best.exists() else []), *([directory.model] if was_finished else [])]
    return next((place for place in places if step_of_best(place) <= steps), None)


def _milestones(run: PretrainRun, directory: RunDirectory, tokenizer: Tokenizer) -> Milestones:
    return Milestones(
        directory.milestones,
        save=lambda model, path: save_model(model, path, extra_files=model_files(run, tokenizer)),
        gather=lambda model: full_model(model, run),
    )


def _initial_scores(
    start: PretrainStart, directory: RunDirectory, model: nn.Module, validation: ValidationSet
) -> ValidationScores | None:
    """Scores before the first step; a resumed run reads them from its directory, unless they are of other examples.

    Without a checkpoint a run begins anew, perhaps from other weights or on a corpus that was built again.
    """
    file = directory.initial_scores

    def saved() -> tuple[bool, ValidationScores | None]:
        is_resumed = directory.has_checkpoint
        known = is_resumed and _same_examples(directory, start) and file.exists()
        return is_resumed, ValidationScores.read(file) if known else None

    is_resumed, scores = validation.world.on_rank_zero(saved)
    if is_resumed:
        return scores
    logger.info("validation before the first step, on at most %s examples", f"{validation.max_eval_examples:,}")
    return validation.score(model)


def _same_examples(directory: RunDirectory, start: PretrainStart) -> bool:
    """Whether the run in the directory began with the same validation examples, as far as it has recorded them."""
    return directory.recorded(_VALIDATION_EXAMPLES) in ("", _validation_examples(start))


def _continue(
    directory: RunDirectory, start: PretrainStart, initial_scores: ValidationScores | None, weights: str, *, log: RunLog
) -> None:
    """Without a checkpoint, nothing stays of the run there: it may have had other weights, settings and documents.

    `weights`: fingerprint of those that the run begins with.
    """
    if not directory.has_checkpoint:
        examples = {_VALIDATION_EXAMPLES: _validation_examples(start)}
        directory.write_environment({**provenance(start.run), _INIT_CHECKPOINT_FINGERPRINT: weights, **examples})
        directory.initial_scores.unlink(missing_ok=True)
        if initial_scores:
            initial_scores.write(directory.initial_scores)
    elif not _same_examples(directory, start):
        directory.initial_scores.unlink(missing_ok=True)
    directory.continue_with(start.run, command="pretrain")
    log.write_to(directory.log)
