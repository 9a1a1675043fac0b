"""Pretraining, start to finish. Before: a corpus from `corpus build`. After: a run directory with a model in it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import nn

from litebert.corpus.batches import PretrainBatches
from litebert.corpus.frequency import unigram_entropy
from litebert.corpus.masked_fraction import Ramp
from litebert.corpus.mixture import WeightedCorpora, refuse_misfit
from litebert.corpus.shards import Corpus
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.counting import flops_per_token
from litebert.model.directory import load_model
from litebert.model.models import ForPretraining
from litebert.runs.best_model import BestModel, whole_model
from litebert.runs.directory import RunDirectory
from litebert.runs.held_out import HeldOut
from litebert.runs.held_out_scores import HeldOutScores
from litebert.runs.pretrain_export import leave
from litebert.runs.pretrain_result import PretrainResult
from litebert.runs.pretrain_settings import PretrainRun
from litebert.runs.pretraining_objective import PretrainingObjective
from litebert.runs.warm_start import warm_started
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.events import Listener
from litebert.training.parallel import World, joined_world
from litebert.training.protocols import Number
from litebert.training.trainer import Trainer

logger = logging.getLogger(__name__)


def pretrain(run: PretrainRun, out: Path, *, listeners: Sequence[Listener] = ()) -> PretrainResult:
    """Train on `run.corpus` for `run.train.duration`; a run that `out` holds goes on, a finished one is given back."""
    corpus = Corpus.open(run.corpus, "train")
    refuse_misfit([(corpus, 1.0), *_mixed_with(run)])
    tokenizer = Tokenizer.load(corpus.tokenizer_directory)
    _refuse_unfit_model(run.model, tokenizer, run.examples.max_length)
    with joined_world(run.train) as world:
        allowed = run.train.allow_changes
        directory = world.on_first(lambda: RunDirectory.open(out, run, kind="pretrain", allowed=allowed))
        if done := directory.result(PretrainResult):
            logger.info("%s: this run is finished; nothing is trained again", out)
            return done
        return _train(run, corpus, tokenizer, directory, world, listeners)


def _train(
    run: PretrainRun,
    corpus: Corpus,
    tokenizer: Tokenizer,
    directory: RunDirectory,
    world: World,
    listeners: Sequence[Listener],
) -> PretrainResult:
    model = _initial_model(run, tokenizer, directory).to(world.device)
    held_out = _held_out(run, world)
    start = _start_scores(directory, model, held_out) if held_out else None
    trainer = Trainer(
        model,
        objective=PretrainingObjective(run.examples.pairing),
        batches=_batches(corpus, run, world),
        settings=run.train,
        directory=directory.path,
        fingerprint={
            "model": run.model.to_dict(),
            "corpus": corpus.fingerprint,
            "tokenizer": tokenizer.fingerprint,
        },
        evaluate=_evaluation(run, held_out, directory, tokenizer) if held_out else None,
        baselines={"mlm": unigram_entropy(corpus)},
        listeners=listeners,
        flops_per_token=_training_flops(run),
    )
    trained = trainer.fit()
    last = whole_model(model, run.model)
    exported = load_model(directory.best) if run.select_by else last
    end = held_out.score(exported.to(world.device)) if held_out else None
    result = PretrainResult(directory.model, trained.steps, trained.tokens, trained.elapsed_seconds, start, end)
    world.on_first(lambda: leave(result, run, exported=exported, last=last, tokenizer=tokenizer, directory=directory))
    return result


def _initial_model(run: PretrainRun, tokenizer: Tokenizer, directory: RunDirectory) -> ForPretraining:
    """New weights, or those of `start_from`; a run that has a checkpoint takes its weights from there anyway."""
    if run.start_from is None or directory.has_checkpoint:
        return ForPretraining(run.model, seed=run.seed)
    return warm_started(run.start_from, run.model, tokenizer, seed=run.seed)


def _evaluation(
    run: PretrainRun, held_out: HeldOut, directory: RunDirectory, tokenizer: Tokenizer
) -> Callable[[nn.Module], Mapping[str, Number]]:
    """What the trainer calls: the measurements, with the best model kept where one is to be selected."""
    if run.select_by is None:
        return held_out.measure
    return BestModel(
        held_out.measure,
        select_by=run.select_by,
        directory=directory.best,
        config=run.model,
        world=held_out.world,
        extra_files=tokenizer.files(),
    )


def _training_flops(run: PretrainRun) -> float:
    predicted = Ramp.parse(run.examples.masked_fraction).end
    return float(flops_per_token(run.model, length=run.examples.max_length, predicted=predicted).training)


def _refuse_unfit_model(config: ModelConfig, tokenizer: Tokenizer, max_length: int) -> None:
    if config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"model.vocab_size: {config.vocab_size}, but the corpus's tokenizer has {tokenizer.vocab_size} pieces; "
            "leave the setting out and it follows the corpus"
        )
    if max_length > config.max_position_embeddings:
        raise ConfigError(
            f"examples.max_length: {max_length} tokens, but model.max_position_embeddings is "
            f"{config.max_position_embeddings}; shorten the examples or give the model more positions"
        )


def _batches(corpus: Corpus, run: PretrainRun, world: World) -> PretrainBatches:
    return PretrainBatches(
        corpus,
        run.examples,
        batch_size=run.batch_size,
        microbatch_size=run.microbatch_size,
        rank=world.rank,
        world_size=world.size,
        seed=run.seed,
        mixed_with=_mixed_with(run),
    )


def _mixed_with(run: PretrainRun) -> WeightedCorpora:
    return [(Corpus.open(directory, "train"), weight) for directory, weight in run.mixed_with.items()]


def _held_out(run: PretrainRun, world: World) -> HeldOut | None:
    if not run.held_out_examples:
        return None
    return HeldOut(run.corpus, run.examples, run.held_out_examples, run.train.precision, world, run.pair_tasks)


def _start_scores(directory: RunDirectory, model: ForPretraining, held_out: HeldOut) -> HeldOutScores:
    """Scores before the first step, measured once and kept for a run that is resumed."""
    file, world = directory.path / "start.json", held_out.world
    if found := world.on_first(lambda: HeldOutScores.read(file) if file.exists() else None):
        return found
    scores = held_out.score(model)
    world.on_first(lambda: scores.write(file))
    return scores
