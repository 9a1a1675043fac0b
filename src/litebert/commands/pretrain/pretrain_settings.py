"""The settings of a pretraining run, from a recipe, overrides and a corpus.

Imports no torch, so that wrong settings are refused at once.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from litebert.commands.recipes import load_recipe, resolved_model
from litebert.commands.runs.card_settings import CardSettings
from litebert.commands.runs.compute import Compute
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.sharing_schedule import with_fewer_layers
from litebert.settings import Settings, with_overrides
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.train_settings import TrainSettings

BestModelMetric = Literal[
    "loss", "mlm_accuracy", "mlm_loss", "clm_accuracy", "clm_loss", "sop_accuracy", "nsp_accuracy"
]
PairObjective = Literal["sop", "nsp"]
Weight = Annotated[float, Field(gt=0)]


class ProgressiveDepth(Settings):
    """Fewer layers in the first part of a run, which together have all shared weights."""

    initial_layers: int = Field(gt=0)
    """Layers that are trained at first, at least one of each group; as many as the model has: no first part."""
    fraction: float = Field(default=0.5, gt=0, lt=1)
    """Share of the run after which all layers are trained."""


class FirstPart(NamedTuple):
    """The first part of a run, in which fewer layers are trained."""

    config: ModelConfig
    """The architecture with these layers."""
    fraction: float
    """Share of the run."""


class PretrainRun(Settings):
    """All settings of a pretraining run."""

    corpus: Path
    """Corpus directory from `litebert corpus build`."""
    data_mixture: dict[str, Weight] = Field(default={})
    """Further corpus directories built with the same tokenizer, and their sampling weights; `corpus` has weight 1.
    `{wiki: 0.5}` draws one example from `wiki` for every two from `corpus`. The epoch length and the validation split
    are those of `corpus`."""
    model: ModelConfig
    """Architecture; its vocab_size is the tokenizer's."""
    sampling: SamplingSettings = SamplingSettings()
    """How examples are drawn from the corpus."""
    train: TrainSettings
    """Optimizer, schedule, length of the run, precision."""
    batch_size: int = Field(default=64, gt=0, le=1_000_000)
    """Examples per step, over all processes."""
    microbatch_size: int = Field(default=64, gt=0)
    """Examples (or rows of packed examples) per forward and backward pass; a smaller number needs less memory and gives
    the same gradient."""
    compute: Compute = Compute()
    """Compilation and activation checkpointing: they change the cost of a step, not its result."""
    max_eval_examples: int = Field(default=2048, ge=0)
    """Maximum number of validation examples per evaluation; 0 trains without evaluation."""
    init_checkpoint: str | None = None
    """Weights to start from: a model or run directory, a checkpoint, a name on the hub or a TensorFlow checkpoint.
    Depth and sharing may differ from the model's, and its feed-forward layers may be narrower. Optimizer, schedule and
    data start from the beginning."""
    init: Literal["random", "structured"] = "random"
    """Initialization of a new model: `random` as in google-research/albert, or `structured` from token co-occurrences
    in the corpus, with previous-token and next-token heads and, from four heads on, duplicate-token heads. Not used
    with `init_checkpoint`."""
    progressive_depth: ProgressiveDepth | None = None
    """Train fewer layers in the first part of the run, which takes less time for a step; where layers share their
    weights, no new ones are needed for the others. Evaluations run all layers. Null trains all from the first step."""
    metric_for_best_model: BestModelMetric | None = None
    """Validation metric by which the exported model is chosen among the evaluated ones; null exports the last model.
    `loss` is that of masked tokens and sentence pairs, `clm_loss` that of next tokens, which causal steps predict."""
    eval_pair_objectives: tuple[PairObjective, ...] = ()
    """Sentence-pair objectives to evaluate besides the trained one: `nsp`, `sop`."""
    seed: int = Field(default=0, ge=0)
    """Seed of the initial weights, of dropout, of the order of the examples and of their masks."""
    card: CardSettings = CardSettings()
    """Licence, languages and intended uses for the model card."""

    @model_validator(mode="after")
    def _check(self) -> "PretrainRun":
        if self.sampling.max_length > self.model.max_position_embeddings:
            raise ValueError(
                f"sampling.max_length: {self.sampling.max_length} tokens, but model.max_position_embeddings is "
                f"{self.model.max_position_embeddings}; shorten the examples or give the model more positions"
            )
        if self.progressive_depth is not None:
            with_fewer_layers(self.model, self.progressive_depth.initial_layers)
        if self.metric_for_best_model is not None:
            self._check_best_model_metric(self.metric_for_best_model)
        return self

    @property
    def first_part(self) -> FirstPart | None:
        """The part of the run that trains fewer layers, if there is one."""
        depth = self.progressive_depth
        if depth is None or depth.initial_layers == self.model.num_hidden_layers:
            return None
        return FirstPart(with_fewer_layers(self.model, depth.initial_layers), depth.fraction)

    @property
    def no_effect(self) -> tuple[str, ...]:
        """The card; how often models are evaluated, unless the best of them is exported."""
        return ("card",) if self.metric_for_best_model else ("card", "train.evaluate_every")

    def _check_best_model_metric(self, metric: BestModelMetric) -> None:
        if not self.max_eval_examples:
            raise ValueError("metric_for_best_model: needs evaluations, but max_eval_examples is 0; change one of them")
        name = metric.partition("_")[0]
        if name in ("sop", "nsp") and name not in (self.sampling.pairing, *self.eval_pair_objectives):
            raise ValueError(f"metric_for_best_model: {name} is not evaluated; add {name} to eval_pair_objectives")
        if name == "clm" and not self.sampling.causal_fraction:
            raise ValueError(f"metric_for_best_model: {metric} needs causal steps (sampling.causal_fraction)")


def load_pretrain_config(recipe: str, overrides: Sequence[str], *, corpus: Path) -> PretrainRun:
    """The settings of `recipe` with `key.path=value` overrides, for a corpus.

    Raises:
        ConfigError: the recipe does not exist, a setting is wrong, or overrides exclude each other.
        DataError: `corpus` is not a corpus directory.
    """
    given = with_overrides({}, overrides)
    if "corpus" in given:
        raise ConfigError("corpus: not a setting to override; give the directory as --corpus")
    validate_one_initialization(given)
    values = with_overrides(load_recipe(recipe, command="pretrain").settings, overrides)
    return pretrain_config(values, corpus=corpus, where=recipe)


def validate_one_initialization(given: Mapping[str, Any]) -> None:
    """Raise ConfigError if `given` asks for structured initialization and for a checkpoint to start from.

    `given` are the settings of the user alone: a recipe with structured initialization may start from a checkpoint.
    """
    if given.get("init") == "structured" and given.get("init_checkpoint") is not None:
        raise ConfigError("init: structured initialization is of new models; leave it out, or init_checkpoint")


def pretrain_config(values: Mapping[str, Any], *, corpus: Path, where: str) -> PretrainRun:
    """The settings in `values`, with a preset of the model filled in; raises what `load_pretrain_config` raises."""
    vocab_size = Tokenizer.load(Corpus.open(corpus, "train").tokenizer_directory).vocab_size
    if not isinstance(values.get("model"), dict):
        raise ConfigError(f"{where}: setting 'model' must be a mapping, such as model.preset=tiny")
    model = resolved_model(values["model"], vocab_size=vocab_size)
    return PretrainRun.parse({**values, "model": model, "corpus": str(corpus)}, where=where)
