"""Everything that decides a fine-tuning run. Before: a recipe or a program. After: `finetune`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from litebert.runs.recipes import load_recipe
from litebert.settings import Settings, with_overrides
from litebert.tasks.task import Kind
from litebert.training.settings import TrainSettings


class HeldOutRows(Settings):
    """Development rows taken from the training file."""

    fraction: float = Field(default=0.1, gt=0, lt=1)
    """Share of the rows to hold out."""
    group: str | None = None
    """Column of a document, user or the like: rows that agree in it stay together. Null: equal texts stay together."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw; runs that differ in another seed are scored on the same rows."""


class LabelledFiles(Settings):
    """Which files, and which of their columns."""

    train: Path
    """CSV, TSV or JSONL file with named columns."""
    dev: Path | HeldOutRows = HeldOutRows()
    """File to select and report by; or how to hold rows of `train` out."""
    text: str = "text"
    """Column of the text."""
    text_pair: str | None = None
    """Column of the second text of a pair."""
    label: str = "label"
    """Column of the label or score."""
    kind: Kind | None = None
    """`classification` or `regression`; null guesses from the labels and says so."""


class FinetuneRun(Settings):
    """Everything that decides a fine-tuning run."""

    model: str
    """Model directory, or a name on the hub; with `from_scratch` a preset, or a directory for its architecture."""
    from_scratch: bool = False
    """Start from random weights: for baselines and tests, never what a pretrained model is for."""
    tokenizer: Path | None = None
    """Tokenizer directory; null takes the one in the model directory."""
    data: LabelledFiles
    """The labelled rows."""
    metrics: tuple[str, ...] = ()
    """What to measure; the first selects the best model. Empty: accuracy, or Pearson's and Spearman's correlation."""
    train: TrainSettings
    """Optimizer, schedule, length of the run, precision."""
    batch_size: int = Field(default=32, gt=0)
    """Examples in one step, over all processes. Source: ALBERT, table 14, as the next four settings."""
    max_length: int = Field(default=512, ge=3)
    """Longest input in tokens; longer texts are cut at their ends."""
    hidden_dropout_prob: float = Field(default=0.0, ge=0, lt=1)
    """Dropout in the encoder, whatever the model was pretrained with."""
    attention_probs_dropout_prob: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the attention probabilities."""
    classifier_dropout_prob: float = Field(default=0.1, ge=0, lt=1)
    """Dropout in front of the new head."""
    microbatch_size: int = Field(default=32, gt=0)
    """Examples in one forward and backward; smaller needs less memory and gives the same gradient."""
    seed: int = Field(default=0, ge=0)
    """Seed of the new head and of the order of the examples."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.train.sharded:
            raise ValueError("train.sharded: fine-tuning keeps a whole model on each process; leave it false")
        return self


def planned(recipe: str, overrides: Iterable[str] = (), *, given: Mapping[str, Any] | None = None) -> FinetuneRun:
    """The settings of a recipe (a name, or a .yaml file), with the values `given`, then `key.path=value` overrides."""
    chosen = load_recipe(recipe, kind="finetune")
    return FinetuneRun.parse(with_overrides({**chosen.settings, **(given or {})}, overrides), where=chosen.name)
