"""Tables of the paper as data: what the rows vary, the paper's values and the claims."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from litebert.commands.reproduce.tables.scales import Scale, Value
from litebert.commands.reproduce.tables.table_files import named_file
from litebert.commands.reproduce.tables.table_metrics import METRICS, Metric
from litebert.errors import suggestion
from litebert.settings import Settings, read_yaml
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS

BaselineName = Literal["constant", "linear"]


class Row(Settings):
    """One model of a table: one of `model`, `ensemble_of`, `recipe` and `baseline` is given."""

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
    baseline: BaselineName | None = None
    """What the models are compared with: `constant`, the same prediction for every example, or `linear`, word and
    character tf-idf with a linear model."""
    paper: dict[Metric, float] = Field(default={})
    """The paper's values, in the units of the report: percent, and numbers of parameters."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The rows whose models this one reads."""
        return (*self.ensemble_of, *([self.start_from] if self.start_from else []))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the paper's values."""
        return tuple(metric for metric in self.paper if metric in BENCHMARKS)

    @model_validator(mode="after")
    def _check(self) -> "Row":
        if sum(map(bool, (self.model, self.ensemble_of, self.recipe, self.baseline))) != 1:
            raise ValueError("expected one of model, ensemble_of, recipe and baseline")
        if not self.model and (self.set or self.start_from or self.corpus != "standard"):
            raise ValueError("set, start_from and corpus are of pretraining, which only rows with a model have")
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


class NonInferiority(Settings):
    """A metric of a row is at most a margin below that of another row, or a number."""

    kind: Literal["non_inferiority"]
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


Claim = Annotated[
    Exact | SameSettings | Ordering | Equivalence | NonInferiority | Interval, Field(discriminator="kind")
]


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
        for task in () if isinstance(self.tasks, bool) else self.tasks:
            if task not in BENCHMARKS:
                raise ValueError(f"tasks: {task!r} is not a benchmark; {suggestion(task, BENCHMARKS)}")
        for metric in self._metrics():
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
        """The table with a claim for each row that its average, or else its score on each task, is as published."""
        if within is None:
            return self
        claims = [
            Interval(kind="interval", about=f"{row.name}: {metric}", metric=metric, of=row.name, within=within)
            for row in self.rows
            for metric in row.paper
            if metric == "average" or (metric in BENCHMARKS and "average" not in row.paper)
        ]
        return self.replace(claims=(*self.claims, *sorted(claims, key=lambda claim: claim.about)))

    def _rows_of_claims(self) -> Iterator[str]:
        for claim in self.claims:
            for value in (getattr(claim, name, None) for name in ("greater", "less", "of", "to")):
                yield from [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()

    def _metrics(self) -> Iterator[Metric]:
        yield from self.measures
        yield from (metric for row in self.rows for metric in row.paper)
        yield from (claim.metric for claim in self.claims if not isinstance(claim, Exact | SameSettings))


def load_table(name: str) -> Table:
    """A table of the paper by its name, or a .yaml file of the user."""
    return Table.parse(read_yaml(named_file("tables", name)), where=name)
