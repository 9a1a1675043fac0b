"""Tables of the paper as data: what the rows vary, the paper's values and the claims; and the scales to run them at."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from litebert.errors import ConfigError, suggestion
from litebert.settings import MAX_SEEDS, Leaf, Settings, read_yaml

Value = Leaf | list[Any]
Metric = str
"""`parameters`, `mlm_accuracy`, `mlm_loss`, `sop_accuracy`, `nsp_accuracy`, the name of a task, or `average`."""


class Row(Settings):
    """One model of a table."""

    name: str
    model: str
    """Name of a model of the scale."""
    set: dict[str, Value] = Field(default={})
    """Pretraining settings that differ from the model's; `$NAME` is a value of the scale."""
    start_from: str | None = None
    """Row of the same table whose trained weights initialize this model."""
    corpus: Literal["standard", "additional"] = "standard"
    """`additional` adds the corpora of --additional-corpus."""
    ensemble_of: tuple[str, ...] = ()
    """Rows of the same table whose fine-tuned models are averaged; the row has no model of its own then."""
    paper: dict[Metric, float] = Field(default={})
    """The paper's values, in the units of the report: percent, and numbers of parameters."""


class Exact(Settings):
    """A preset has exactly this number of parameters."""

    kind: Literal["exact"]
    about: str
    preset: str
    parameters: int


class Ordering(Settings):
    """A metric is greater in one row than in another row, or than a number."""

    kind: Literal["ordering"]
    about: str
    metric: Metric
    greater: str
    less: str | float


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


Claim = Annotated[Exact | Ordering | Equivalence | Interval, Field(discriminator="kind")]


class Table(Settings):
    """A table or figure of the paper."""

    title: str
    measures: tuple[Metric, ...] = ()
    """Metrics of the pretrained models that are columns."""
    tasks: bool = True
    """Whether the models are fine-tuned on the tasks of the scale."""
    figure: Literal["layers", "curves"] | None = None
    """A picture: layer transitions, or validation MLM accuracy over steps."""
    note: str = ""
    rows: tuple[Row, ...] = ()
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "Table":
        names = [row.name for row in self.rows]
        for name in self._named_rows():
            if name not in names:
                raise ValueError(f"{name!r} is not a row; {suggestion(name, names)}")
        if len(set(names)) < len(names):
            raise ValueError("rows: two rows have the same name")
        return self

    def row(self, name: str) -> Row:
        """The row of that name."""
        return next(row for row in self.rows if row.name == name)

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

    def _named_rows(self) -> Iterator[str]:
        for row in self.rows:
            yield from ([row.start_from] if row.start_from else [])
            yield from row.ensemble_of
        for claim in self.claims:
            values = [getattr(claim, name, None) for name in ("greater", "less", "of", "to")]
            yield from (value for value in values if isinstance(value, str))


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
    return sorted(_names("tables"), key=lambda name: (name.split("-")[0] != "table", int(name.split("-")[1])))


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
        raise ConfigError(f"{name!r}: not one of the {folder}; {suggestion(name, _names(folder))}")
    return Path(str(_folder(folder) / f"{name}.yaml"))


def _names(folder: str) -> list[str]:
    return [Path(str(entry)).stem for entry in _folder(folder).iterdir() if str(entry).endswith(".yaml")]


def _folder(folder: str) -> Any:
    return files("litebert") / "recipes" / "reproduce" / folder
