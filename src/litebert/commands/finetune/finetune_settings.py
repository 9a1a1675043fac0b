"""Everything that decides a fine-tuning run. Before: a recipe or a program. After: `finetune`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import Discriminator, Field, PlainValidator, Tag, model_validator

from litebert.commands.compute import Compute
from litebert.commands.finetune.class_weights import ClassWeights, checked_class_weights
from litebert.commands.recipes import load_recipe
from litebert.model.layers.lora_settings import Freeze, LoRASettings
from litebert.settings import Leaf, Settings, flatten, with_overrides
from litebert.tasks.benchmarks.benchmarks import Split, official_task
from litebert.tasks.readers.answer_alignment import BadAnswers
from litebert.tasks.readers.columns import Columns, has_columns, validate_no_columns
from litebert.tasks.task_type import Kind
from litebert.training.train_settings import TrainSettings


class HeldOutRows(Settings):
    """Development rows taken from the training file."""

    fraction: float = Field(default=0.1, gt=0, lt=1)
    """Share of the rows to hold out."""
    group: str | None = None
    """Column of a document, user or the like: rows that agree in it stay together. Null: equal texts stay together."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw; runs that differ in another seed are scored on the same rows."""


class LabelledFiles(Settings):
    """Files of your own, and which of their columns."""

    train: Path
    """CSV, TSV or JSONL file with named columns, CoNLL columns (.conll), or `hf:OWNER/NAME:SPLIT` of the hub."""
    dev: Path | HeldOutRows = HeldOutRows()
    """File to select and report by; or how to hold rows of `train` out."""
    text: str | None = None
    """Column of the text, or of lists of words; null: `text`, or in a table of questions `question`."""
    text_pair: str | None = None
    """Column of the second text of a pair, or of the question of a multiple choice."""
    label: str | None = None
    """Column of the label, the labels, the score, the right option or the list of tags; null: `label`, or `answer`."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice, or the one that holds lists; empty finds them by their names."""
    slice: str | None = None
    """Column by whose values the development rows are also scored apart."""
    kind: Kind | None = None
    """What is asked of a row; null guesses from the file and says so."""
    invalid_answers: BadAnswers = "refuse"
    """What to do with an answer to a question that is not in its text: `refuse` the file, or `skip` it and count."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        validate_no_columns(asdict(self.columns), *self._files())
        return self

    def _files(self) -> tuple[Path, ...]:
        return (self.train, self.dev) if isinstance(self.dev, Path) else (self.train,)

    @property
    def columns(self) -> Columns:
        """The columns as readers take them."""
        group = self.dev.group if isinstance(self.dev, HeldOutRows) else None
        return Columns(
            text=self.text,
            text_pair=self.text_pair,
            label=self.label,
            options=self.options,
            group=group,
            slice=self.slice,
        )

    def completed(self, older: Mapping[str, Leaf], *, below: str = "") -> dict[str, Leaf]:
        """As of all settings, but without columns that nobody named or nothing reads: earlier versions kept them."""
        values, usual = super().completed(older, below=below), Columns().names()
        if not any(map(has_columns, self._files())):
            unread = flatten({**asdict(Columns()), "dev.group": None})
            return values | {f"{below}{name}": value for name, value in unread.items() if f"{below}{name}" in values}
        unnamed = {f"{below}{name}": getattr(usual, name) for name in ("text", "label") if getattr(self, name) is None}
        return {name: None if unnamed.get(name) == value else value for name, value in values.items()}


class OfficialFiles(Settings):
    """A published task by its name, from its published files."""

    task: str
    """Name of a task: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, race, race-middle, race-high, …"""
    directory: Path
    """Directory that holds the folder of the task, such as `CoLA`; or that folder."""
    dev: Split = "dev"
    """Part to select and report by."""
    files: dict[Split, str] = Field(default_factory=dict)
    """Files laid out as the official ones, to take their places, such as a smaller selection; only train and dev."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        parts = official_task(self.task).parts
        for part in ("train", self.dev):
            if part not in parts:
                raise ValueError(f"the task {self.task} has no part {part!r}; it has {', '.join(parts)}")
        for part in self.files:
            if part not in ("train", self.dev):
                raise ValueError(f"files: train and {self.dev} are read, not {part}; leave it out, or set data.dev")
        return self

    def completed(self, older: Mapping[str, Leaf], *, below: str = "") -> dict[str, Leaf]:
        """As of all settings, but without files of parts that nothing reads: earlier versions let a run name them."""
        values = super().completed(older, below=below)
        files = f"{below}files."
        read = (f"{files}train", f"{files}{values.get(f'{below}dev')}")
        return {name: value for name, value in values.items() if name in read or not name.startswith(files)}


def _which(value: Any) -> str:
    is_official = isinstance(value, OfficialFiles) or (isinstance(value, Mapping) and "task" in value)
    return "(official)" if is_official else "(labelled)"


Data = Annotated[
    Annotated[LabelledFiles, Tag("(labelled)")] | Annotated[OfficialFiles, Tag("(official)")], Discriminator(_which)
]


class FinetuneRun(Settings):
    """Everything that decides a fine-tuning run."""

    model: str
    """Model or run directory, or a name on the hub; with `from_scratch` a preset, or an architecture's directory."""
    from_scratch: bool = False
    """Start from random weights: for baselines and tests, never what a pretrained model is for."""
    tokenizer: Path | None = None
    """Tokenizer directory; null takes the one in the model directory."""
    data: Data
    """The labelled rows: files of your own (`train`, …), or a task by its name (`task`, `directory`)."""
    metrics: tuple[str, ...] = ()
    """What to measure; the first selects the best model. Empty: what is usual for the task or its kind."""
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
    compute: Compute = Compute()
    """Compiling, and how many activations are kept: what a step costs, not what it gives."""
    seed: int = Field(default=0, ge=0)
    """Seed of the new head, of new adapters, of dropout and of the order of the examples."""
    keep_head: bool = False
    """Go on with the head of a model that was fine-tuned on the same labels; otherwise the head starts anew."""
    patience: int | None = Field(default=None, gt=0)
    """Evaluations without a better one after which the run ends; null trains to the end. The schedule is not cut."""
    class_weights: Annotated[ClassWeights, PlainValidator(checked_class_weights)] = None
    """How much each label counts: null for all alike, `balanced` by how rare it is, or numbers by label."""
    freeze: Freeze | None = None
    """Not trained: `nothing`, `embeddings`, `all_but_pooler` or the whole `encoder`; null: that with adapters."""
    layerwise_lr_decay: float = Field(default=1.0, gt=0, le=1)
    """Factor of the learning rate at each step from the head: 1 block that layers share is 1 step, 12 blocks are 12."""
    adapters: LoRASettings | None = None
    """Adapters of low rank beside dense layers: rank, alpha, projections, per_layer; null for none."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.train.fsdp:
            raise ValueError("train.fsdp: fine-tuning replicates the model on each process; leave it false")
        if self.keep_head and self.from_scratch:
            raise ValueError("keep_head: a model from scratch has no head to keep; leave one of the two false")
        return self


_LEVELS_OF: Final = {"race-middle": "race", "race-high": "race"}


def recipe_of_task(name: str) -> str:
    """The recipe for a published task, which has the same name except for a part of one; others stay as they are."""
    return _LEVELS_OF.get(name, name)


def load_finetune_config(
    recipe: str, overrides: Iterable[str] = (), *, given: Mapping[str, Any] | None = None
) -> FinetuneRun:
    """The settings of a recipe (its name, a task, a .yaml file), the values `given`, then `key.path=value`."""
    chosen = load_recipe(recipe_of_task(recipe), kind="finetune")
    return FinetuneRun.parse(with_overrides({**chosen.settings, **(given or {})}, overrides), where=chosen.name)
