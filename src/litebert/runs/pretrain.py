"""Pretraining, start to finish. Before: a corpus from `corpus build`. After: a run directory with a model in it."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from litebert.corpus.batches import PretrainBatches
from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.masked_fraction import Ramp
from litebert.corpus.mixture import WeightedCorpora, refuse_misfit
from litebert.corpus.shards import Corpus
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.counting import flops_per_token
from litebert.model.directory import save_model
from litebert.model.models import ForPretraining
from litebert.runs.directory import RunDirectory
from litebert.runs.held_out import HeldOut, PairTask
from litebert.runs.held_out_scores import HeldOutScores
from litebert.runs.model_card import model_card
from litebert.runs.pretraining_objective import PretrainingObjective
from litebert.runs.recipes import load_recipe, resolved_model
from litebert.runs.result import Result
from litebert.settings import Settings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.events import Listener
from litebert.training.parallel import World, joined_world
from litebert.training.settings import TrainSettings
from litebert.training.trainer import Trainer

logger = logging.getLogger(__name__)

Weight = Annotated[float, Field(gt=0)]


class PretrainRun(Settings):
    """Everything that decides a pretraining run."""

    corpus: Path
    """Corpus directory from `litebert corpus build`."""
    mixed_with: dict[str, Weight] = Field(default={})
    """Further corpus directories made with the same tokenizer, and their weights beside `corpus`, which has 1:
    `{wiki: 0.5}` draws one example from `wiki` for two from `corpus`. An epoch, and what is held out, is `corpus`'s."""
    model: ModelConfig
    """Architecture; its vocab_size is the tokenizer's."""
    examples: ExampleSettings = ExampleSettings()
    """How examples are drawn from the corpus."""
    train: TrainSettings
    """Optimizer, schedule, length of the run, precision."""
    batch_size: int = Field(default=64, gt=0)
    """Examples in one step, over all processes."""
    microbatch_size: int = Field(default=64, gt=0)
    """Examples, or rows if they are packed, in one forward and backward; smaller needs less memory and gives the same
    gradient."""
    held_out_examples: int = Field(default=2048, ge=0)
    """Most examples of the corpus's held-out part to score at an evaluation; 0 trains without looking."""
    pair_tasks: tuple[PairTask, ...] = ()
    """Pair tasks to score at an evaluation besides the one that is trained: `nsp`, `sop`."""
    seed: int = Field(default=0, ge=0)
    """Seed of the initial weights, of the order of the examples and of their masks."""


@dataclass(frozen=True)
class PretrainResult(Result):
    """What a finished run reports; also the content of its `result.json`."""

    model: Path
    steps: int
    tokens: int
    elapsed_seconds: float
    start: HeldOutScores | None
    end: HeldOutScores | None

    @property
    def tokens_per_second(self) -> float:
        """Real tokens a second, padding, evaluation and checkpoints left out."""
        return self.tokens / self.elapsed_seconds if self.elapsed_seconds else 0.0

    def to_text(self) -> str:
        """The result for a person."""
        lines = [
            f"{self.steps:,} steps, {self.tokens:,} tokens in {self.elapsed_seconds / 60:.1f} minutes "
            f"({self.tokens_per_second:,.0f} tokens/s)"
        ]
        for name, scores in (("start", self.start), ("end", self.end)):
            lines += [f"held-out text at the {name}: {scores.to_text()}"] if scores else []
        return "\n".join([*lines, f"model: {self.model}"])


def pretrain(run: PretrainRun, out: Path, *, listeners: Sequence[Listener] = ()) -> PretrainResult:
    """Train on `run.corpus` for `run.train.duration`; a run that `out` holds goes on, a finished one is given back."""
    corpus = Corpus.open(run.corpus, "train")
    refuse_misfit([(corpus, 1.0), *_mixed_with(run)])
    tokenizer = Tokenizer.load(corpus.tokenizer_directory)
    _refuse_unfit_model(run.model, tokenizer, run.examples.max_length)
    with joined_world(run.train) as world:
        directory = world.on_first(lambda: RunDirectory.open(out, run, kind="pretrain"))
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
    model = ForPretraining(run.model, seed=run.seed).to(world.device)
    held_out = _held_out(run, world)
    start = _start_scores(directory, model, held_out) if held_out else None
    trainer = Trainer(
        model,
        objective=PretrainingObjective(run.examples.pairing),
        batches=_batches(corpus, run, world),
        settings=run.train,
        directory=directory.path,
        fingerprint={"model": run.model.to_dict(), "corpus": corpus.fingerprint},
        evaluate=held_out.measure if held_out else None,
        listeners=listeners,
        flops_per_token=_training_flops(run),
    )
    trained = trainer.fit()
    end = held_out.score(model) if held_out else None
    result = PretrainResult(directory.model, trained.steps, trained.tokens, trained.elapsed_seconds, start, end)
    world.on_first(lambda: _leave(result, run, model, tokenizer, directory))
    return result


def _training_flops(run: PretrainRun) -> float:
    predicted = Ramp.parse(run.examples.masked_fraction).end
    return float(flops_per_token(run.model, length=run.examples.max_length, predicted=predicted).training)


def _leave(
    result: PretrainResult, run: PretrainRun, model: ForPretraining, tokenizer: Tokenizer, directory: RunDirectory
) -> None:
    """Write the model directory, then the mark that the run is finished."""
    files = {**tokenizer.files(), "README.md": _card(result, run, model).encode()}
    save_model(model, directory.model, extra_files=files)
    directory.finish(result)


def _card(result: PretrainResult, run: PretrainRun, model: ForPretraining) -> str:
    scores = {"steps": result.steps, "tokens": result.tokens}
    if result.end:
        values = result.end.to_dict()
        scores |= {f"held-out {name}": value for name, value in values.items() if not isinstance(value, dict)}
    chosen = {"layers": run.model.num_hidden_layers, "hidden size": run.model.hidden_size, "sharing": run.model.sharing}
    return model_card(
        model,
        title="An ALBERT encoder",
        task="fill-mask",
        summary="Pretrained from scratch with masked language modelling and sentence-order prediction.",
        use='from litebert import Predictor\n\nPredictor.load(".").fill_mask("A sentence with a [MASK] in it.")',
        scores=scores,
        settings={**chosen, "duration": str(run.train.duration), "batch size": run.batch_size, "seed": run.seed},
    )


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


def planned(recipe: str, overrides: Sequence[str], *, corpus: Path) -> PretrainRun:
    """The run that a recipe, changed by `key.path=value` overrides, means for a corpus."""
    values = load_recipe(recipe, kind="pretrain").with_overrides(overrides)
    vocab_size = Tokenizer.load(Corpus.open(corpus, "train").tokenizer_directory).vocab_size
    if not isinstance(values.get("model"), dict):
        raise ConfigError(f"{recipe}: setting 'model' must be a mapping, such as model.preset=tiny")
    model = resolved_model(values["model"], vocab_size=vocab_size)
    return PretrainRun.parse({**values, "model": model, "corpus": str(corpus)}, where=recipe)
