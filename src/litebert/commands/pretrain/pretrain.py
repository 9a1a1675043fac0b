"""Pretraining, start to finish. Before: a corpus from `corpus build`. After: a run directory with a model in it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import nn

from litebert.commands.pretrain.best_model import BestModel, whole_model
from litebert.commands.pretrain.export import export
from litebert.commands.pretrain.held_out import HeldOut
from litebert.commands.pretrain.held_out_scores import HeldOutScores
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.commands.run_directory import RunDirectory
from litebert.corpus.sampling.mlm_probability import LinearSchedule
from litebert.corpus.statistics.token_frequency import unigram_entropy
from litebert.model.io.model_directory import load_model
from litebert.model.model_stats import flops_per_token
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.plateau_detector import PlateauDetector
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.protocols import Number
from litebert.training.trainer import RunInfo, Trainer

logger = logging.getLogger(__name__)


def pretrain(run: PretrainRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> PretrainResult:
    """Train on `run.corpus` for `run.train.duration`; a run that `out` holds goes on, a finished one is given back."""
    start = PretrainStart.of(run)
    with distributed_context(run.train) as world:
        allowed = run.train.allow_config_changes
        directory = world.on_rank_zero(lambda: RunDirectory.open(out, run, kind="pretrain", allowed=allowed))
        if done := directory.result(PretrainResult):
            logger.info("%s: this run is finished; nothing is trained again", out)
            return done
        return _train(start, directory, world, callbacks)


def _train(
    start: PretrainStart, directory: RunDirectory, world: DistributedContext, callbacks: Sequence[Callback]
) -> PretrainResult:
    run, tokenizer = start.run, start.tokenizer
    model = start.model(directory, world).to(world.device)
    held_out = _held_out(run, world)
    before = _start_scores(directory, model, held_out) if held_out else None
    trainer = Trainer(
        model,
        objective=PretrainingObjective(run.examples.pairing),
        batches=start.batches(world),
        settings=run.train,
        run=RunInfo(
            directory=directory.path,
            seed=run.seed,
            fingerprint={
                "model": run.model,
                "corpus": start.corpus.fingerprint,
                "tokenizer": tokenizer.fingerprint,
            },
            flops_per_token=_training_flops(run),
        ),
        evaluate=_evaluation(run, held_out, directory, tokenizer) if held_out else None,
        callbacks=[PlateauDetector({"mlm": unigram_entropy(start.corpus)}), *callbacks],
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


def _evaluation(
    run: PretrainRun, held_out: HeldOut, directory: RunDirectory, tokenizer: Tokenizer
) -> Callable[[nn.Module], Mapping[str, Number]]:
    """What the trainer calls: the measurements, with the best model kept where one is to be selected."""
    if run.metric_for_best_model is None:
        return held_out.measure
    return BestModel(
        held_out.measure,
        metric_for_best_model=run.metric_for_best_model,
        directory=directory.best,
        config=run.model,
        world=held_out.world,
        extra_files=tokenizer.files(),
    )


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
