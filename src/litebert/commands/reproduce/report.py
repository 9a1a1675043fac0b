"""The report of a table: the paper's values beside the measured ones, the claims, and the pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from litebert.analysis.plots import Panel, line_panels
from litebert.commands.analyze.layer_analysis import LayerTransitions, layer_panels
from litebert.commands.reproduce.claims import Verdict
from litebert.commands.reproduce.scores import Scores
from litebert.commands.reproduce.tables.paper_tables import Row, Table
from litebert.commands.reproduce.tables.table_metrics import (
    DECIMALS,
    MEASURES,
    RECIPE_SETTINGS,
    SIZES,
    VARIATIONS,
    Metric,
)
from litebert.tasks.metrics.seed_statistics import is_number, missing_note, statistics_of
from litebert.tasks.metrics.text_table import markdown_table

PARAMETERS, SPEED, AVERAGE = "parameters", "tokens_per_second", "average"
_COLUMNS = SIZES | MEASURES | VARIATIONS
LEGEND = """\
A cell is the median over the seeds; in brackets its 95 % bootstrap interval, which of three seeds is their range; in
parentheses the paper's value. Accuracies and scores are in percent, losses in nats. MLM, SOP and NSP are measured on
the validation split of the corpus. The score of SQuAD is the mean of F1 and exact match, as in the paper's averages;
`average` is the mean of the tasks in the table. `parameters` counts the encoder with its pooler. A variation is the
mean absolute difference between successive layers, relative to the mean. Claims compare means over the seeds; p is
that of a paired one-sided t-test, of an equivalence the larger one of two, not corrected for the number of claims. It
says what other seeds would give on the same examples, not what other examples would. Fewer than three seeds decide
nothing."""


@dataclass(frozen=True)
class TableReport:
    """One table as plain values: what `results.json` holds, and what its text is made of."""

    name: str
    title: str
    note: str
    scale: str
    metrics: list[Metric]
    rows: list[dict[str, Any]]
    """`name`, `paper` (metric → value), `values` (metric → one value a seed), `runs` (pretraining runs by seed)."""
    claims: list[dict[str, Any]]
    figures: list[str]
    left_out: list[str]
    """Tasks of the table that were not run, and rows without their data."""
    gains: list[str]
    """What each ensemble gains over its members, in words."""

    @classmethod
    def of(
        cls, name: str, table: Table, scores: Scores, verdicts: Sequence[Verdict], *, scale: str, figures: Sequence[str]
    ) -> "TableReport":
        """The report of the scores of a table."""
        rows = [
            {"name": row.name, "paper": row.paper, "values": values, "runs": scores.runs.get(row.name, [])}
            for row in table.rows
            if (values := scores.values.get(row.name)) is not None
        ]
        claims = [asdict(each) for each in verdicts]
        metrics, left_out = _columns(table, rows), _left_out(table, rows)
        gains = [gain for row in table.rows if row.ensemble_of for gain in _gains(row, metrics, scores)]
        return cls(name, table.title, table.note, scale, metrics, rows, claims, list(figures), left_out, gains)

    @classmethod
    def field_names(cls) -> set[str]:
        """By which the tables of another version are recognized."""
        return {each.name for each in fields(cls)}

    def to_markdown(self, *, with_scale: bool = False) -> str:
        """Tables of the results and of the claims."""
        lines = [f"## {self.name.replace('-', ' ').capitalize()}: {self.title}", ""]
        lines += [f"Scale: {self.scale}.", ""] if with_scale else []
        lines += [self.note, ""] if self.note else []
        if self.left_out:
            beside = "; the paper's averages include all tasks" if AVERAGE in self.metrics else ""
            lines += [f"Left out: {', '.join(self.left_out)}{beside}.", ""]
        if self.metrics:
            header = ["", *(_COLUMNS.get(metric, metric) for metric in self.metrics)]
            lines.append(markdown_table([header, *map(self._row, self.rows)]))
        lines += [f"\n{gain}" for gain in self.gains]
        lines += [f"\n![{self.title}]({figure})" for figure in self.figures]
        if self.claims:
            rows = [[claim["about"], claim["state"], claim["seen"], _p(claim["p_value"])] for claim in self.claims]
            lines += ["", markdown_table([["claim", "verdict", "seen", "p"], *rows])]
        return "\n".join(lines)

    def _row(self, row: Mapping[str, Any]) -> list[str]:
        cells = [self._speed(row) if metric == SPEED else _cell(metric, row) for metric in self.metrics]
        return [row["name"], *cells]

    def _speed(self, row: Mapping[str, Any]) -> str:
        """`tokens per second (relative to the first row)`, medians of the seeds."""
        median, first = (_median(SPEED, each) for each in (row, self.rows[0]))
        if median is None or first is None:
            return "–"
        return f"{median:.0f} ({median / first:.2f}x){_missing(SPEED, row)}"


def _columns(table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Metric]:
    """The metrics that have values: sizes only where they vary, an average only of several tasks."""
    found = {metric: None for row in rows for metric, values in row["values"].items() if set(values) != {None}}
    varying = [size for size in SIZES if len({_median(size, row) for row in rows} - {None}) > 1]
    rest = [metric for metric in found if metric not in (PARAMETERS, *SIZES, *MEASURES)]
    tasks = [metric for metric in rest if metric not in (AVERAGE, *VARIATIONS)]
    if len(tasks) == 1 and AVERAGE in rest:
        rest.remove(AVERAGE)
    wanted = dict.fromkeys((PARAMETERS, *varying, *table.measures, *rest))
    return [metric for metric in wanted if metric in found]


def _left_out(table: Table, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    measured = {metric for row in rows for metric in row["values"]}
    tasks = [] if isinstance(table.tasks, bool) else [task for task in table.tasks if task not in measured]
    names = {row["name"] for row in rows}
    return [*tasks, *(f"the row {row.name}" for row in table.rows if row.name not in names)]


def _gains(row: Row, metrics: Sequence[Metric], scores: Scores) -> Iterator[str]:
    """A sentence for each score: how much better the ensemble is than its best member, and than their mean."""
    for metric in metrics:
        of_members = [scores.of(member, metric) for member in row.ensemble_of]
        seeds = [values for values in zip(scores.of(row.name, metric), *of_members, strict=False) if None not in values]
        if seeds:
            table = np.array(seeds, dtype=np.float64)
            best, mean = table[:, 1:].max(1), table[:, 1:].mean(1)
            yield (
                f"{metric}: {row.name} {np.median(table[:, 0] - best):+.1f} points over its best member, "
                f"{np.median(table[:, 0] - mean):+.1f} over the mean of its {len(of_members)} members."
            )


def _cell(metric: Metric, row: Mapping[str, Any]) -> str:
    """`median [interval] (2 of 3 seeds) (paper's value)`."""
    values = _known(metric, row)
    paper = row["paper"].get(metric)
    if metric == PARAMETERS:
        beside = f" ({paper / 1e6:.0f}M)" if paper else ""
        return (f"{values[0] / 1e6:.2f}M" if values else "–") + beside
    if metric in (*SIZES, *RECIPE_SETTINGS):  # the same for every seed
        return (f"{values[0]:g}" if values else "–") + (f" ({paper:g})" if paper is not None else "")
    digits = DECIMALS.get(metric, 1)
    beside = _missing(metric, row) + (f" ({paper:.{_paper_digits(paper)}f})" if paper is not None else "")
    if not values:
        return f"–{beside}"
    if len(values) == 1:
        return f"{values[0]:.{digits}f}{beside}"
    low, high = statistics_of(values).median_interval or (values[0], values[0])
    return f"{float(np.median(values)):.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]{beside}"


def _paper_digits(value: float) -> int:
    """Two for a mean of F1 and exact match that ends in 5."""
    return 1 if round(value, 1) == value else 2


def _median(metric: Metric, row: Mapping[str, Any]) -> float | None:
    values = _known(metric, row)
    return float(np.median(values)) if values else None


def _known(metric: Metric, row: Mapping[str, Any]) -> list[float]:
    """Without those of seeds whose cell failed, or whose score is not a number."""
    return [value for value in row["values"].get(metric, []) if is_number(value)]


def _missing(metric: Metric, row: Mapping[str, Any]) -> str:
    """How many seeds have a value, where some have none; nothing where all have none, as of a row without the task."""
    known = _known(metric, row)
    return missing_note(len(known), len(row["values"][metric])) if known else ""


def write_figures(name: str, table: Table, scores: Scores, directory: Path) -> list[str]:
    """Draw the picture of a figure, if its cells are finished; returns its file name."""
    draw = {"layers": _layer_panels, "curves": _curve_panels}
    panels = draw[table.figure](table, scores) if table.figure else []
    if not panels or not panels[0].lines:
        return []
    line_panels(panels, directory / f"{name}.png", title=table.title)
    return [f"{name}.png"]


def _layer_panels(table: Table, scores: Scores) -> list[Panel]:
    records = scores.of_first_seed("distances")
    rows = [row.name for row in table.rows if row.name in records]
    return layer_panels({row: LayerTransitions(records[row]["distances"], records[row]["angles"]) for row in rows})


def _curve_panels(table: Table, scores: Scores) -> list[Panel]:
    """A panel for each model."""
    records = scores.of_first_seed("curve")
    lines: dict[str | None, dict[str, tuple[list[float], list[float]]]] = {}
    for row in table.rows:
        if row.name in records:
            curve = records[row.name]["curve"]
            steps, values = zip(*curve, strict=True) if curve else ((), ())
            lines.setdefault(row.model, {})[row.name] = (list(steps), [100 * value for value in values])
    return [Panel(f"step ({model})", "MLM accuracy on validation text (%)", each) for model, each in lines.items()]


def _p(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
