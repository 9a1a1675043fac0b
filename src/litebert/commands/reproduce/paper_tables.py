"""Tables of the paper as data: what the rows vary, the paper's values and the claims; and the scales to run them at."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from litebert.errors import ConfigError, suggestion
from litebert.settings import MAX_SEEDS, Leaf, Settings, read_yaml
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS

Value = Leaf | list[Any]
Metric = str
"""`parameters` or another size of a model, `initial_mlm_accuracy` (before step 1), `mlm_accuracy`, `mlm_loss`,
`sop_accuracy`, `nsp_accuracy`, the name of a task, `average`; a setting in rows with a `recipe`.
"""
MEASURES = ("initial_mlm_accuracy", "mlm_accuracy", "mlm_loss", "sop_accuracy", "nsp_accuracy", "tokens_per_second")
SIZES = ("num_hidden_layers", "hidden_size", "embedding_size")
RECIPE_SETTINGS = (
    "learning_rate",
    "batch_size",
    "hidden_dropout_prob",
    "classifier_dropout_prob",
    "steps",
    "warmup_steps",
    "max_length",
)
VARIATIONS = ("distance_variation", "angle_variation")
DECIMALS = {"mlm_loss": 3, **dict.fromkeys(VARIATIONS, 3)}
"""Of metrics that are not shown with one."""
METRICS: tuple[Metric, ...] = (
    *("parameters", "average"),
    *(*MEASURES, *SIZES, *RECIPE_SETTINGS, *VARIATIONS),
    *BENCHMARKS,
)


class Row(Settings):
    """One model of a table: one of `model`, `ensemble_of` and `recipe` is given."""

    name: str
    model: str | None = None
    """Name of a model of the scale."""
    set: dict[str, Value] = Field(default={})
    """Pretraining settings that differ from the model's; `$NAME` is a value of the scale."""
    start_from: str | None = None
    """Row of the same table whose trained weights initialize this model."""
    corpus: Literal["standard", "additional"] = "standard"
    """`additional` adds the corpora of --additional-corpus."""
    ensemble_of: tuple[str, ...] = ()
    """Rows of the same table whose fine-tuned models are averaged."""
    recipe: str | None = None
    """Fine-tuning recipe whose settings are the row's values; nothing is run."""
    paper: dict[Metric, float] = Field(default={})
    """The paper's values, in the units of the report: percent, and numbers of parameters."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The rows whose models this one reads."""
        return (*self.ensemble_of, *([self.start_from] if self.start_from else []))

    @model_validator(mode="after")
    def _check(self) -> "Row":
        if sum(map(bool, (self.model, self.ensemble_of, self.recipe))) != 1:
            raise ValueError("expected one of model, ensemble_of and recipe")
        return self


class Exact(Settings):
    """A preset has exactly this number of parameters."""

    kind: Literal["exact"]
    about: str
    preset: str
    parameters: int


class SameSettings(Settings):
    """The recipes of all rows have the paper's settings."""

    kind: Literal["same_settings"]
    about: str


class Ordering(Settings):
    """A metric is greater in one row than in another row, in the best of several rows, or than a number."""

    kind: Literal["ordering"]
    about: str
    metric: Metric
    greater: str
    less: str | float | tuple[str, ...]


class Equivalence(Settings):
    """A metric of a row is within a margin of that of another row, or of a number."""

    kind: Literal["equivalence"]
    about: str
    metric: Metric
    of: str
    to: str | float
    within: float = Field(gt=0)


class Interval(Settings):
    """A metric is within a margin of the paper's value; for scale `paper`."""

    kind: Literal["interval"]
    about: str
    metric: Metric
    of: str
    within: float = Field(gt=0)


Claim = Annotated[Exact | SameSettings | Ordering | Equivalence | Interval, Field(discriminator="kind")]


class Table(Settings):
    """A table or figure of the paper."""

    title: str
    measures: tuple[Metric, ...] = ()
    """Metrics of the pretrained models that are columns."""
    tasks: bool | tuple[str, ...] = True
    """The tasks of the scale that the models are fine-tuned on: all, none, or those named here."""
    train: bool = True
    """Whether the models are trained; false: the table has their sizes only."""
    figure: Literal["layers", "curves"] | None = None
    """A picture: layer transitions, or validation MLM accuracy over steps."""
    note: str = ""
    rows: tuple[Row, ...] = ()
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "Table":
        names = [row.name for row in self.rows]
        for name in self._rows_of_claims():
            if name not in names:
                raise ValueError(f"{name!r} is not a row; {suggestion(name, names)}")
        if len(set(names)) < len(names):
            raise ValueError("rows: two rows have the same name")
        for place, row in enumerate(self.rows):
            before = [each.name for each in self.rows[:place] if each.model]
            for name in row.needs:
                if name not in before:
                    raise ValueError(f"{row.name!r} needs {name!r}, which is not the name of a model before it")
        for metric in self._metrics_of_claims():
            if metric not in METRICS:
                raise ValueError(f"{metric!r} is not a metric; {suggestion(metric, METRICS)}")
        return self

    def row(self, name: str) -> Row:
        """The row of that name."""
        return next(row for row in self.rows if row.name == name)

    def tasks_of(self, scale: "Scale") -> list[str]:
        """The tasks that the models are fine-tuned on at a scale."""
        if isinstance(self.tasks, bool):
            return list(scale.tasks) if self.tasks else []
        return [task for task in scale.tasks if task in self.tasks]

    def with_intervals(self, within: float | None) -> "Table":
        """The table with a claim for each row that its average, or without one each of its scores, is the paper's."""
        if within is None:
            return self
        claims = [
            Interval(kind="interval", about=f"{row.name}: {metric}", metric=metric, of=row.name, within=within)
            for row in self.rows
            for metric in row.paper.keys() - {"parameters"}
            if metric == "average" or "average" not in row.paper
        ]
        return self.replace(claims=(*self.claims, *sorted(claims, key=lambda claim: claim.about)))

    def _rows_of_claims(self) -> Iterator[str]:
        for claim in self.claims:
            for value in (getattr(claim, name, None) for name in ("greater", "less", "of", "to")):
                yield from [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()

    def _metrics_of_claims(self) -> Iterator[Metric]:
        yield from self.measures
        yield from (claim.metric for claim in self.claims if not isinstance(claim, Exact | SameSettings))


class Scale(Settings):
    """How large the models are, how long they train, and on which tasks they are fine-tuned."""

    about: str
    recipe: str
    """Pretraining recipe that all rows begin with."""
    settings: dict[str, Value] = Field(default={})
    """Settings that differ from the recipe's, in all rows."""
    models: dict[str, dict[str, Value]]
    """Settings of each model that the tables name."""
    values: dict[str, Value] = Field(default={})
    """What `$NAME` stands for in the rows."""
    tasks: dict[str, dict[str, Value]] = Field(default={})
    """Benchmark → settings that differ from those of its recipe."""
    finetune: dict[str, Value] = Field(default={})
    """Settings of all fine-tuning runs."""
    runs: bool = True
    """Whether the scale can be run; false: it is for --plan only."""
    within: float | None = Field(default=None, gt=0)
    """Points within which the average of each row must be the paper's (kind `interval`); null: no such claims."""
    seeds: int = Field(default=1, ge=1, le=MAX_SEEDS)
    seeds_of: dict[str, int] = Field(default={})
    """Number of seeds of tables that have another one."""

    def resolve(self, settings: Mapping[str, Value]) -> dict[str, Value]:
        """The settings with the values of the scale in the place of `$NAME`."""
        return {name: self._value(value) for name, value in settings.items()}

    def _value(self, value: Value) -> Value:
        if not (isinstance(value, str) and value.startswith("$")):
            return value
        if value[1:] not in self.values:
            raise ConfigError(f"{value}: the scale has no such value; {suggestion(value[1:], self.values)}")
        return self.values[value[1:]]


def table_names() -> list[str]:
    """`table-1` to `table-14`, `figure-1`, `figure-2`."""
    return sorted(_names("tables"), key=place_in_paper)


def place_in_paper(name: str) -> tuple[bool, int]:
    """By which names are sorted: tables before figures, by number."""
    kind, _, number = name.partition("-")
    return kind != "table", int(number) if number.isdigit() else 0


def load_table(name: str) -> Table:
    """A table of the paper by its name, or a .yaml file of the user."""
    return Table.parse(read_yaml(_file("tables", name)), where=name)


def load_scale(name: str) -> Scale:
    """A scale by its name, or a .yaml file of the user."""
    return Scale.parse(read_yaml(_file("scales", name)), where=name)


def _file(folder: str, name: str) -> Path:
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    if name not in _names(folder):
        names = table_names() if folder == "tables" else sorted(_names(folder))
        raise ConfigError(f"{name!r}: not one of the {folder}; {suggestion(name, names)}")
    return Path(str(_folder(folder) / f"{name}.yaml"))


def _names(folder: str) -> list[str]:
    return [Path(str(entry)).stem for entry in _folder(folder).iterdir() if str(entry).endswith(".yaml")]


def _folder(folder: str) -> Any:
    return files("litebert") / "recipes" / "reproduce" / folder
