"""Optimizer, learning rate, batch size and duration of fine-tuning, by the model and the size of the data."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

from litebert.errors import LitebertError
from litebert.files import RUN_SETTINGS
from litebert.model.presets import preset_named
from litebert.settings import read_yaml
from litebert.tasks.readers.columns import Columns
from litebert.training.train_settings import OptimizerName

BASE_HIDDEN_SIZE: Final = 768
BASE_LEARNING_RATE: Final = 3e-5
MIN_LEARNING_RATE: Final = 5e-6
"""With it the released ALBERT-xlarge v2 learns, which did not with larger rates; smaller ones are not reported. Source:
google-research/google-research issue 151; google-research/albert issue 197 is about the same."""
MIN_EPOCHS: Final = 3
SMALL_BATCH_ROWS: Final = 2000
"""Below, a batch has 16 examples instead of 32, and a run with Muon 10 epochs instead of 5."""
MANY_ROWS: Final = 10_000
"""From so many rows on a run with Muon has 3 epochs instead of 5."""
SMALL_HIDDEN_SIZE: Final = 384
"""Models up to this size are trained with Muon, or with AdamW for more epochs; on fewer than `DROPOUT_ROWS` rows with
dropout."""
DROPOUT_ROWS: Final = 5000
MUON_LEARNING_RATE: Final = 2e-3
"""Of the matrices; the other parameters of a small encoder have `BESIDE_MUON_LEARNING_RATE`. Both are those of the
recipe `mrpc-small`."""
BESIDE_MUON_LEARNING_RATE: Final = 3e-4


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """Settings that depend on the model and on the size of the data."""

    optimizer: OptimizerName
    learning_rate: float
    muon_learning_rate: float | None
    """None: not chosen."""
    batch_size: int
    epochs: int
    hidden_dropout_prob: float

    def steps(self, rows: int) -> int:
        """Length of the run in steps."""
        return ceil(self.epochs * rows / self.batch_size)

    def to_dict(self) -> dict[str, Any]:
        """As settings of a run."""
        train = {"optimizer": self.optimizer, "learning_rate": self.learning_rate, "duration": f"{self.epochs} epochs"}
        if self.muon_learning_rate is not None:
            train["muon_learning_rate"] = self.muon_learning_rate
        return {"batch_size": self.batch_size, "hidden_dropout_prob": self.hidden_dropout_prob, "train": train}


def settings_for_size(hidden_size: int, rows: int, *, optimizer: OptimizerName = "adamw") -> SizeSettings:
    """The rule that docs/guides/fine-tuning.md states, with the trials it comes from.

    The learning rate is that of ALBERT-base times (768 / hidden size)². The epochs give about 2,000 steps for a small
    model and 1,000 for others, at least 3 epochs and at most 20 or 10. Small models have dropout on few rows. With Muon
    a small model has learning rates of its own and 10, 5 or 3 epochs.
    """
    rate = max(MIN_LEARNING_RATE, BASE_LEARNING_RATE * (BASE_HIDDEN_SIZE / hidden_size) ** 2)
    small = is_small(hidden_size)
    has_muon = small and optimizer == "muon"
    batch_size = 16 if rows < SMALL_BATCH_ROWS else 32
    steps, most = (2000, 20) if small else (1000, 10)
    epochs = min(most, max(MIN_EPOCHS, round(steps * batch_size / rows)))
    if has_muon:
        epochs = 10 if rows < SMALL_BATCH_ROWS else 5 if rows < MANY_ROWS else MIN_EPOCHS
    return SizeSettings(
        optimizer=optimizer,
        learning_rate=BESIDE_MUON_LEARNING_RATE if has_muon else float(f"{rate:.1e}"),
        muon_learning_rate=MUON_LEARNING_RATE if optimizer == "muon" else None,
        batch_size=batch_size,
        epochs=epochs,
        hidden_dropout_prob=0.2 if small and rows < DROPOUT_ROWS else 0.0,
    )


def defaults_of_run(out: Path, usual: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the run in `out` has for the `usual` ones, which are kept where it has none."""
    saved = _settings_of_run(out) or {}
    own = saved.get("train") or {}
    train = {name: own.get(name, value) for name, value in usual["train"].items()}
    if train["optimizer"] == "muon" and "muon_learning_rate" in own:
        train["muon_learning_rate"] = own["muon_learning_rate"]
    return {name: saved.get(name, value) for name, value in usual.items()} | {"train": train}


def with_choices_of_run(out: Path | None, values: dict[str, Any]) -> dict[str, Any]:
    """`values` with the optimizer of an existing run in `out`, with its rate of Muon, and whether it fits heads, where
    these are left open.

    So a run that was started by an earlier version, with other defaults, can be resumed.
    """
    saved, name = _settings_of_run(out), "fit_duplicate_token_heads"
    if saved is None:
        return values
    train, own = values.get("train", {}), saved.get("train") or {}
    if isinstance(train, Mapping):
        kept = ("optimizer", "muon_learning_rate") if own.get("optimizer") == "muon" else ("optimizer",)
        values = {**values, "train": {**{key: own[key] for key in kept if key in own}, **train}}
    return {**values, name: saved.get(name, False)} if values.get(name) == "auto" else values


def _settings_of_run(out: Path | None) -> dict[str, Any] | None:
    file = out / RUN_SETTINGS if out else None
    return read_yaml(file) if file and file.exists() else None


def hidden_size_of(model: str) -> int | None:
    """The hidden size of a model directory, a preset or a model of the hub; None where it cannot be read.

    The run itself reports what is wrong with the model.
    """
    if config := preset_named(model):
        return config.hidden_size
    from litebert.model.io.hub import model_directory
    from litebert.model.io.model_spec import read_model_spec

    try:
        return read_model_spec(model_directory(model)).config.hidden_size
    except LitebertError:
        return None


def is_small(hidden_size: int | None) -> bool:
    """Whether a model of this hidden size is small; False where it is not known."""
    return hidden_size is not None and hidden_size <= SMALL_HIDDEN_SIZE


def is_small_encoder(model: str) -> bool:
    """Whether a model directory holds a small encoder of `litebert pretrain` that is not fine-tuned."""
    from litebert.inference.pretraining_record import pretraining_record
    from litebert.model.io.hub import model_directory
    from litebert.model.io.model_spec import MASKED_LANGUAGE_MODELS, read_model_spec

    try:
        directory = model_directory(model)
        spec, record = read_model_spec(directory), pretraining_record(directory)
    except LitebertError:
        return False
    is_pretrained = spec.model in MASKED_LANGUAGE_MODELS and record is not None
    return is_pretrained and is_small(spec.config.hidden_size)


def count_rows(
    file: Path, *, skip_unlabelled: bool = False, columns: Columns | None = None, task_type: str | None = None
) -> int | None:
    """Examples of a labelled file; None where it cannot be read, which the run itself reports.

    With `skip_unlabelled` a table is read whole, because its task type decides whether an empty label is missing.
    """
    from litebert.hub_datasets import is_dataset_name, load_split

    if not is_dataset_name(file) and not file.exists():
        return None
    from litebert.tasks.file_formats import format_of  # imports torch
    from litebert.tasks.read_labelled import LabelledRows
    from litebert.tasks.readers.hub_tables import read_any_table
    from litebert.tasks.readers.labelled_rows import is_blank
    from litebert.tasks.readers.tables import open_table
    from litebert.tasks.types.task_type import ReadOptions

    try:
        if file_format := format_of(file):
            return sum(1 for _ in file_format.iter_inputs(file))
        if skip_unlabelled:
            options = ReadOptions(task_type=task_type, unlabelled_rows="skip", soft_labels=True)
            rows = LabelledRows.of(read_any_table(file), columns or Columns(), saved=None, options=options)
            return len(rows.table.rows)
        if is_dataset_name(file):
            return len(load_split(file))
        return sum(not is_blank(row) for row in open_table(file)[1])
    except LitebertError:
        return None
