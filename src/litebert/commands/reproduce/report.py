"""The report of a table: the paper's values beside the measured ones, the claims, and the pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from litebert.analysis.plots import Panel, line_panels
from litebert.commands.analyze.layer_analysis import LayerTransitions, layer_panels
from litebert.commands.reproduce.claims import Verdict
from litebert.commands.reproduce.paper_tables import Metric, Table
from litebert.commands.reproduce.scores import Scores
from litebert.commands.sweep.trial_results import statistics_of
from litebert.tasks.metrics.text_table import markdown_table

PARAMETERS, SPEED = "parameters", "tokens_per_second"
_COLUMNS = {"mlm_accuracy": "MLM", "mlm_loss": "MLM loss", "sop_accuracy": "SOP", "nsp_accuracy": "NSP"}
_COLUMNS |= {SPEED: "tokens/s"}
_PRETRAINING = (PARAMETERS, *_COLUMNS)
DECIMALS = {"mlm_loss": 3, "distance_variation": 3, "angle_variation": 3}


@dataclass(frozen=True)
class TableReport:
    """One table as plain values: what `results.json` holds, and what its text is made of."""

    name: str
    title: str
    note: str
    scale: str
    metrics: list[Metric]
    rows: list[dict[str, Any]]
    """`name`, `seeds`, `paper` (metric → value) and `values` (metric → one value a seed)."""
    claims: list[dict[str, Any]]
    figures: list[str]

    @classmethod
    def of(
        cls, name: str, table: Table, scores: Scores, verdicts: Sequence[Verdict], *, scale: str, figures: Sequence[str]
    ) -> "TableReport":
        """The report of the scores of a table."""
        rows = [
            {"name": row.name, "paper": row.paper, "values": scores.values[row.name]}
            for row in table.rows
            if row.name in scores.values
        ]
        found = [metric for row in rows for metric, values in row["values"].items() if set(values) != {None}]
        wanted = [PARAMETERS, *table.measures, *(metric for metric in found if metric not in _PRETRAINING)]
        metrics = [metric for metric in dict.fromkeys(wanted) if metric in found]
        claims = [asdict(each) for each in verdicts]
        return cls(name, table.title, table.note, scale, metrics, rows, claims, list(figures))

    def to_markdown(self) -> str:
        """Tables of the results and of the claims."""
        lines = [f"## {self.name.replace('-', ' ').capitalize()}: {self.title}", ""]
        lines += [self.note, ""] if self.note else []
        if self.metrics:
            header = ["", *(_COLUMNS.get(metric, metric) for metric in self.metrics)]
            lines.append(markdown_table([header, *map(self._row, self.rows)]))
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
        return f"{median:.0f} ({median / first:.2f}x)"


def _cell(metric: Metric, row: Mapping[str, Any]) -> str:
    """`median ± half the range of the seeds (paper's value)`."""
    values = [value for value in row["values"].get(metric, []) if value is not None]
    paper = row["paper"].get(metric)
    if metric == PARAMETERS:
        beside = f" ({paper / 1e6:.0f}M)" if paper else ""
        return (f"{values[0] / 1e6:.2f}M" if values else "–") + beside
    digits = DECIMALS.get(metric, 1)
    beside = f" ({paper:.1f})" if paper is not None else ""
    if not values:
        return f"–{beside}"
    if len(values) == 1:
        return f"{values[0]:.{digits}f}{beside}"
    low, high = statistics_of(values).median_interval or (values[0], values[0])
    return f"{float(np.median(values)):.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]{beside}"


def _median(metric: Metric, row: Mapping[str, Any]) -> float | None:
    values = [value for value in row["values"].get(metric, []) if value is not None]
    return float(np.median(values)) if values else None


def write_figures(name: str, table: Table, scores: Scores, directory: Path) -> list[str]:
    """Draw the picture of a figure, if its cells are finished; returns its file name."""
    panels = {"layers": _layer_panels, "curves": _curve_panels}[table.figure](scores) if table.figure else []
    if not panels or not panels[0].lines:
        return []
    line_panels(panels, directory / f"{name}.png", title=table.title)
    return [f"{name}.png"]


def _layer_panels(scores: Scores) -> list[Panel]:
    records = {row: each for row, found in scores.records.items() for each in found[:2] if "distances" in each}
    return layer_panels({row: LayerTransitions(each["distances"], each["angles"]) for row, each in records.items()})


def _curve_panels(scores: Scores) -> list[Panel]:
    lines = {}
    for row, found in scores.records.items():
        points = np.array(found[0]["curve"])
        if len(points):
            lines[row] = (points[:, 0].tolist(), (100 * points[:, 1]).tolist())
    return [Panel("step", "MLM accuracy on validation text (%)", lines)]


def _p(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
