"""What a pretraining run is: its settings, from a recipe and a corpus. Before: recipes. After: `pretrain`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from litebert.commands.compute import Compute
from litebert.commands.pretrain.best_model import SelectBy
from litebert.commands.pretrain.held_out import PairTask
from litebert.commands.recipes import load_recipe, resolved_model
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.initialization.head_patterns import num_duplicate_token_heads
from litebert.settings import Settings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.train_settings import TrainSettings

Weight = Annotated[float, Field(gt=0)]


class PretrainRun(Settings):
    """Everything that decides a pretraining run."""

    corpus: Path
    """Corpus directory from `litebert corpus build`."""
    data_mixture: dict[str, Weight] = Field(default={})
    """Further corpus directories made with the same tokenizer, and their weights beside `corpus`, which has 1:
    `{wiki: 0.5}` draws one example from `wiki` for two from `corpus`. An epoch, and what is held out, is `corpus`'s."""
    model: ModelConfig
    """Architecture; its vocab_size is the tokenizer's."""
    examples: SamplingSettings = SamplingSettings()
    """How examples are drawn from the corpus."""
    train: TrainSettings
    """Optimizer, schedule, length of the run, precision."""
    batch_size: int = Field(default=64, gt=0)
    """Examples in one step, over all processes."""
    microbatch_size: int = Field(default=64, gt=0)
    """Examples, or rows if they are packed, in one forward and backward; smaller needs less memory and gives the same
    gradient."""
    compute: Compute = Compute()
    """Compiling, and how many activations are kept: what a step costs, not what it gives."""
    max_eval_examples: int = Field(default=2048, ge=0)
    """Most examples of the corpus's held-out part to score at an evaluation; 0 trains without looking."""
    init_checkpoint: str | None = None
    """Weights to start from: a model or run directory, a checkpoint, a name on the hub or a TensorFlow checkpoint; its
    depth and sharing may differ from the model's. Optimizer, schedule and data begin anew."""
    init: Literal["random", "structured"] = "random"
    """Initial weights of a new model: random, as in google-research/albert, or structured: token embeddings from the
    corpus's co-occurrence counts, previous-token and next-token heads and, with four heads or more, duplicate-token
    heads. No effect with `init_checkpoint`."""
    freeze_duplicate_token_heads: bool = False
    """Do not train query and key of the duplicate-token heads: the pretraining objectives do not need these heads and
    would unlearn them. Weight decay still changes them unless `train.exclude_from_weight_decay` names query and key."""
    metric_for_best_model: SelectBy | None = None
    """Held-out measure by which the exported model is chosen among those evaluated; null exports the last one."""
    eval_pair_objectives: tuple[PairTask, ...] = ()
    """Pair tasks to score at an evaluation besides the one that is trained: `nsp`, `sop`."""
    seed: int = Field(default=0, ge=0)
    """Seed of the initial weights, of dropout, of the order of the examples and of their masks."""

    @model_validator(mode="after")
    def _validate_structured_init(self) -> "PretrainRun":
        if self.init == "structured" and self.model.position_embedding == "rotary":
            raise ValueError(
                "init: structured initialization writes the table of position embeddings, which "
                "model.position_embedding 'rotary' does not have; set init=random"
            )
        return self

    @model_validator(mode="after")
    def _validate_frozen_heads(self) -> "PretrainRun":
        if not self.freeze_duplicate_token_heads:
            return self
        if not num_duplicate_token_heads(self.model.num_attention_heads):
            raise ValueError(
                f"freeze_duplicate_token_heads: of {self.model.num_attention_heads} heads none is a duplicate-token head; "
                "give model.num_attention_heads 4 or more, or leave this setting out"
            )
        if self.init == "random" and self.init_checkpoint is None:
            raise ValueError(
                "freeze_duplicate_token_heads: a random initialization has no duplicate-token heads; "
                "set init=structured, or init_checkpoint to a model that was initialized so"
            )
        return self

    @model_validator(mode="after")
    def _selection_is_measured(self) -> "PretrainRun":
        if self.metric_for_best_model is None:
            return self
        task = self.metric_for_best_model.partition("_")[0]
        if not self.max_eval_examples:
            raise ValueError(
                "metric_for_best_model: nothing is measured, since max_eval_examples is 0; set one of the two"
            )
        if task in ("sop", "nsp") and task not in (self.examples.pairing, *self.eval_pair_objectives):
            raise ValueError(f"metric_for_best_model: {task} pairs are not scored; add {task} to eval_pair_objectives")
        return self


def load_pretrain_config(recipe: str, overrides: Sequence[str], *, corpus: Path) -> PretrainRun:
    """The run that a recipe, changed by `key.path=value` overrides, means for a corpus."""
    values = load_recipe(recipe, kind="pretrain").with_overrides(overrides)
    vocab_size = Tokenizer.load(Corpus.open(corpus, "train").tokenizer_directory).vocab_size
    if not isinstance(values.get("model"), dict):
        raise ConfigError(f"{recipe}: setting 'model' must be a mapping, such as model.preset=tiny")
    model = resolved_model(values["model"], vocab_size=vocab_size)
    return PretrainRun.parse({**values, "model": model, "corpus": str(corpus)}, where=recipe)
