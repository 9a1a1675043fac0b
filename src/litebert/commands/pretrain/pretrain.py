"""Pretraining from start to finish: from a corpus directory to a run directory with a model."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from torch import nn

from litebert.commands.fingerprint import fingerprint_of
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
from litebert.commands.runs.best_model import BestModel, evaluation_file, step_of_best
from litebert.commands.runs.run_directory import ENVIRONMENT, RunDirectory
from litebert.commands.runs.run_precision import warn_slow_bf16, with_measured_precision, with_saved_precision
from litebert.corpus.statistics.token_frequency import unigram_entropy
from litebert.errors import CheckpointError
from litebert.files import read_json_object
from litebert.model.io.model_directory import config_contents, load_model, save_model
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.milestones import Milestones
from litebert.training.callbacks.plateau_detector import PlateauDetector
from litebert.training.callbacks.stop_with_parent import stop_with_parent
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.trainer import RunInfo, Trainer, TrainResult

logger = logging.getLogger(__name__)

_INIT_CHECKPOINT_FINGERPRINT = "init_checkpoint_fingerprint"
_DRAWN_BY = ("sampling", "max_eval_examples", "eval_pair_objectives")
"""Settings that decide which validation examples there are, besides the corpus."""


def pretrain(run: PretrainRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> PretrainResult:
    """Train on `run.corpus` for `run.train.duration`; an unfinished run in `out` is resumed."""
    start = PretrainStart.of(run)
    with distributed_context(run.train) as world:
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
        return _train(replace(start, run=run), directory, world, callbacks)


def _validate_same_inputs(start: PretrainStart, result: PretrainResult, out: Path) -> None:
    """Raise CheckpointError if documents or initial weights are not those of the finished run in `out`.

    Weights that are no longer there cannot be compared.
    """
    run, found = start.run, init_checkpoint_fingerprint(start.run.init_checkpoint)
    if result.corpus not in ("", start.corpus.fingerprint):
        raise CheckpointError(
            f"{run.corpus}: its documents are not those that the finished run in {out} was trained on; restore "
            "the corpus, or choose another --out"
        )
    if found and result.init_checkpoint not in ("", found):
        raise CheckpointError(
            f"init_checkpoint: {run.init_checkpoint}: its weights are not those that the finished run in {out} started "
            "from; restore them, or choose another --out"
        )


def _train(
    start: PretrainStart, directory: RunDirectory, world: DistributedContext, callbacks: Sequence[Callback]
) -> PretrainResult:
    run = start.run
    model = start.model(directory, world).to(world.device)
    validation = None
    if run.max_eval_examples:
        drawn = (run.corpus, run.sampling, run.max_eval_examples)
        validation = ValidationSet(*drawn, run.train.precision, world, run.eval_pair_objectives)
    initial_scores = _initial_scores(run, directory, model, validation) if validation else None
    best = _best_model(start, validation, directory, initial_scores) if validation else None
    layers = ProgressiveLayers(model.encoder, run.first_part) if run.first_part else None
    trainer = Trainer(
        model,
        objective=PretrainingObjective(run.sampling.pairing),
        batches=start.batches(world),
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
    trained = trainer.fit(on_locked=lambda: _continue(directory, run, initial_scores))
    return _finish(
        *(start, trained),
        model=model,
        directory=directory,
        world=world,
        validation=validation,
        initial_scores=initial_scores,
    )


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
            "batches": f"the examples that `sampling` draws from {run.corpus}",
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
        corpus=start.corpus.fingerprint,
        init_checkpoint=_saved_fingerprint(directory),
    )
    world.on_rank_zero(
        lambda: write_finished_run(
            result, run, exported=exported, best=best_place, last=last, tokenizer=start.tokenizer, directory=directory
        )
    )
    return result


def _saved_fingerprint(directory: RunDirectory) -> str:
    """Fingerprint of the weights that the run started from, written when it began."""
    file = directory.path / ENVIRONMENT
    return read_json_object(file, if_missing="").get(_INIT_CHECKPOINT_FINGERPRINT, "") if file.exists() else ""


def _best_model(
    start: PretrainStart, validation: ValidationSet, directory: RunDirectory, initial_scores: ValidationScores | None
) -> BestModel | None:
    """Saves the best model, if the settings select one."""
    run = start.run
    if run.metric_for_best_model is None:
        return None
    validation.validate_metric(run.metric_for_best_model)
    if initial_scores:
        validation.validate_scored(run.metric_for_best_model, initial_scores)
    return BestModel(
        lambda model: {"metrics": dict(validation.evaluate(model))},
        metric=run.metric_for_best_model,
        greater_is_better=not run.metric_for_best_model.endswith("loss"),
        directory=directory.best,
        earlier=directory.model,
        world=validation.world,
        save=lambda model, record: save_model(
            model, directory.best, extra_files={**model_files(run, start.tokenizer), **evaluation_file(record)}
        ),
        gather=lambda model: full_model(model, run),
        measured_on=_examples_of(run, start.corpus.fingerprint),
    )


def _examples_of(run: PretrainRun, corpus: str) -> str:
    """Digest of what decides the validation examples."""
    # Without defaults, so that a later version with more settings has the same digest.
    drawn = run.model_dump(mode="json", include=set(_DRAWN_BY), exclude_defaults=True)
    return fingerprint_of({"corpus": corpus, **drawn})


def _best_place(directory: RunDirectory, steps: int) -> Path | None:
    """Where the best model is: in `model/` of a run that was finished before, which `last/` beside it reveals.

    None for that of a step after the `steps` of the run, which `BestModel` forgets too.
    """
    is_finished = directory.last.is_dir() and directory.model.is_dir()
    place = directory.best if directory.best.exists() else directory.model if is_finished else None
    return place if place and step_of_best(place) <= steps else None


def _milestones(run: PretrainRun, directory: RunDirectory, tokenizer: Tokenizer) -> Milestones:
    return Milestones(
        directory.milestones,
        save=lambda model, path: save_model(model, path, extra_files=model_files(run, tokenizer)),
        gather=lambda model: full_model(model, run),
    )


def _initial_scores(
    run: PretrainRun, directory: RunDirectory, model: nn.Module, validation: ValidationSet
) -> ValidationScores | None:
    """Scores before the first step; a resumed run reads them from its directory, unless they are of other examples.

    Without a checkpoint a run begins anew, perhaps from other weights or on a corpus that was built again.
    """
    file = directory.initial_scores

    def saved() -> tuple[bool, ValidationScores | None]:
        is_resumed = directory.has_checkpoint
        known = is_resumed and _same_examples(directory, run) and file.exists()
        return is_resumed, ValidationScores.read(file) if known else None

    is_resumed, scores = validation.world.on_rank_zero(saved)
    if is_resumed:
        return scores
    logger.info("validation before the first step, on at most %s examples", f"{validation.max_eval_examples:,}")
    return validation.score(model)


def _same_examples(directory: RunDirectory, run: PretrainRun) -> bool:
    """Whether the run in the directory, if there is one, is evaluated on the same examples."""
    if not directory.settings_file.exists():
        return True
    before, now = directory.saved_settings(PretrainRun), run.to_dict()
    return all(before.get(name, now[name]) == now[name] for name in ("corpus", *_DRAWN_BY))


def _continue(directory: RunDirectory, run: PretrainRun, initial_scores: ValidationScores | None) -> None:
    """Without a checkpoint, nothing stays of the run there: it may have had other weights, settings and documents."""
    if not directory.has_checkpoint:
        fingerprint = init_checkpoint_fingerprint(run.init_checkpoint)
        directory.write_environment({**provenance(run), _INIT_CHECKPOINT_FINGERPRINT: fingerprint})
    if not (directory.has_checkpoint and _same_examples(directory, run)):
        directory.initial_scores.unlink(missing_ok=True)
        if initial_scores:
            initial_scores.write(directory.initial_scores)
    directory.continue_with(run, command="pretrain")
