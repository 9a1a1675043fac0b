"""Pretraining, start to finish. Before: a corpus from `corpus build`. After: a run directory with a model in it."""

import logging
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from litebert.commands.best_model import BestModel, Record, evaluation_file
from litebert.commands.pretrain.export import export, whole_model
from litebert.commands.pretrain.held_out import HeldOut
from litebert.commands.pretrain.held_out_scores import HeldOutScores
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.commands.run_directory import RunDirectory
from litebert.corpus.sampling.mlm_probability import LinearSchedule
from litebert.corpus.statistics.token_frequency import unigram_entropy
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.model_stats import flops_per_token
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.monitoring.events import Listener
from litebert.training.trainer import Trainer

logger = logging.getLogger(__name__)


def pretrain(run: PretrainRun, out: Path, *, listeners: Sequence[Listener] = ()) -> PretrainResult:
    """Train on `run.corpus` for `run.train.duration`; a run that `out` holds goes on, a finished one is given back."""
    start = PretrainStart.of(run)
    with distributed_context(run.train) as world:
        allowed = run.train.allow_config_changes
        directory = world.on_rank_zero(lambda: RunDirectory.open(out, run, kind="pretrain", allowed=allowed))
        if done := directory.result(PretrainResult):
            logger.info("%s: this run is finished; nothing is trained again", out)
            return done
        return _train(start, directory, world, listeners)


def _train(
    start: PretrainStart, directory: RunDirectory, world: DistributedContext, listeners: Sequence[Listener]
) -> PretrainResult:
    run, tokenizer = start.run, start.tokenizer
    model = start.model(directory, world).to(world.device)
    held_out = _held_out(run, world)
    before = _start_scores(directory, model, held_out) if held_out else None
    best = _best_model(run, held_out, directory, tokenizer) if held_out else None
    trainer = Trainer(
        model,
        objective=PretrainingObjective(run.examples.pairing),
        batches=start.batches(world),
        settings=run.train,
        directory=directory.path,
        fingerprint={
            "model": run.model,
            "corpus": start.corpus.fingerprint,
            "tokenizer": tokenizer.fingerprint,
        },
        evaluate=best.evaluate if best else held_out.measure if held_out else None,
        baselines={"mlm": unigram_entropy(start.corpus)},
        listeners=[best, *listeners] if best else listeners,
        flops_per_token=_training_flops(run),
    )
    # All that the settings name is open now and fits together; so far nothing was written.
    world.on_rank_zero(lambda: _begin(directory, run, before))
    trained = trainer.fit()
    last = whole_model(model, run.model)
    exported = load_model(directory.best) if run.metric_for_best_model else last
    after = held_out.score(exported.to(world.device)) if held_out else None
    result = PretrainResult(directory.model, trained.steps, trained.tokens, trained.elapsed_seconds, before, after)
    world.on_rank_zero(
        lambda: export(result, run, exported=exported, last=last, tokenizer=tokenizer, directory=directory)
    )
    return result


def _best_model(run: PretrainRun, held_out: HeldOut, directory: RunDirectory, tokenizer: Tokenizer) -> BestModel | None:
    """Saves the best model, if the settings select one."""
    if run.metric_for_best_model is None:
        return None
    return BestModel(
        lambda model: {"metrics": dict(held_out.measure(model))},
        metric=run.metric_for_best_model,
        directory=directory.best,
        world=held_out.world,
        save=lambda model, record: _save_best(model, record, directory, tokenizer),
        gather=lambda model: whole_model(model, run.model),
    )


def _save_best(model: nn.Module, record: Record, directory: RunDirectory, tokenizer: Tokenizer) -> None:
    save_model(model, directory.best, extra_files={**tokenizer.files(), **evaluation_file(record)})


def _training_flops(run: PretrainRun) -> float:
    predicted = LinearSchedule.parse(run.examples.mlm_probability).end
    return float(flops_per_token(run.model, length=run.examples.max_length, predicted=predicted).training)


def _held_out(run: PretrainRun, world: DistributedContext) -> HeldOut | None:
    if not run.max_eval_examples:
        return None
    return HeldOut(
        run.corpus, run.examples, run.max_eval_examples, run.train.precision, world, run.eval_pair_objectives
    )


def _start_scores(directory: RunDirectory, model: nn.Module, held_out: HeldOut) -> HeldOutScores:
    """Scores before the first step; a run that is resumed has kept them."""
    file = directory.start_scores
    if found := held_out.world.on_rank_zero(lambda: HeldOutScores.read(file) if file.exists() else None):
        return found
    return held_out.score(model)


def _begin(directory: RunDirectory, run: PretrainRun, before: HeldOutScores | None) -> None:
    directory.begin(run, kind="pretrain")
    if before and not directory.start_scores.exists():
        before.write(directory.start_scores)
