"""The training and validation curves of runs as one self-contained HTML page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Literal

import numpy as np

from litebert.analysis.curves import Curve, read_curves
from litebert.analysis.html_page import html_page
from litebert.analysis.plots import Series, Style, line_chart_svg
from litebert.errors import DataError
from litebert.files import distinct_names, write_text

Axis = Literal["steps", "tokens", "minutes"]
EVERY_STEP = "train/learning_rate"
"""A metric that every run logs at every logged step."""
COLOURS = ("#2f6fde", "#d9622b", "#1f9e77", "#a347ba", "#c2a000", "#d43d6a", "#3aa6c9", "#7a6652")
"""One per run, cyclically."""
X_METRICS = {"tokens": ("train/tokens", 1.0), "minutes": ("train/elapsed_seconds", 60.0)}


@dataclass(frozen=True)
class Panel:
    """One chart: the metrics that it shows of every run."""

    title: str
    train: str
    validation: str | None = None
    percent: bool = False
    reference: str | float | None = None
    """A constant, or the metric whose last value it is."""
    reference_name: str = ""
    train_style: Style = "measured"


_MAJORITY = "evaluation/majority_token_accuracy"
PANELS = (
    Panel("MLM accuracy", "train/mlm_accuracy", "evaluation/mlm_accuracy", True, _MAJORITY, "majority-token baseline"),
    Panel("SOP accuracy", "train/sop_accuracy", "evaluation/sop_accuracy", True, 0.5, "chance"),
    Panel("NSP accuracy", "train/nsp_accuracy", "evaluation/nsp_accuracy", True, 0.5, "chance"),
    Panel("MLM loss", "train/mlm_loss", "evaluation/mlm_loss"),
    Panel("SOP loss", "train/sop_loss", "evaluation/sop_loss"),
    Panel("Learning rate", "train/learning_rate", train_style="exact"),
    Panel("Gradient norm", "train/grad_norm"),
    Panel("Tokens per second", "train/tokens_per_second"),
    Panel("MFU", "train/mfu", percent=True),
)

RunCurves = Mapping[str, Mapping[str, Curve]]
"""Run name → metric name → curve."""


def write_curve_page(runs: Sequence[Path], page: Path, *, over: Axis = "steps") -> Path:
    """Write `page`, an HTML file with the curves of every run directory, and return its path."""
    curves = {name: read_curves(run / "metrics.jsonl") for name, run in zip(run_names(runs), runs, strict=True)}
    write_text(page, curve_page(curves, over=over))
    return page


def curve_page(runs: RunCurves, *, over: Axis = "steps") -> str:
    """The page for the curves of each run."""
    ends = [_x_values(curves[EVERY_STEP], curves, over)[-1] for curves in runs.values() if EVERY_STEP in curves]
    colours = dict(zip(runs, cycle(COLOURS), strict=False))
    cards = [card for panel in PANELS if ends and (card := _card(panel, runs, colours, over, float(max(ends))))]
    if not cards:
        raise DataError(f"{', '.join(runs)}: no step is recorded yet; wait for the first one")
    legend = "".join(
        f'<span class="run"><i style="background:{colour}"></i>{escape(name)}</span>'
        for name, colour in colours.items()
    )
    note = '<p class="note">Lines: running mean of training batches, with quartiles; markers: validation.</p>'
    sections = [f"<div>{legend}</div>", note, "<main>", *cards, "</main>"]
    return html_page(" · ".join(runs), sections, style=_STYLE)


def run_names(runs: Sequence[Path]) -> list[str]:
    """A unique name for each run: as many of its last directories as needed."""
    names = distinct_names([run.resolve() for run in runs])
    if len(set(names)) < len(names):
        raise DataError(f"{runs[0]}: is given twice; give each run once")
    return names


def _card(panel: Panel, runs: RunCurves, colours: Mapping[str, str], over: Axis, x_max: float) -> str:
    """The chart of a panel as HTML; empty if no run has its metrics."""
    metrics: dict[str | None, Style] = {panel.train: panel.train_style, panel.validation: "validation"}
    series = [
        Series(f"{run} {curve.name}", _x_values(curve, curves, over), np.array(curve.values), colours[run], style)
        for run, curves in runs.items()
        for metric, style in metrics.items()
        if (curve := curves.get(metric or ""))
    ]
    if not series:
        return ""
    reference = _reference(panel, runs)
    svg = line_chart_svg(
        series, title=panel.title, x_label=over, x_max=x_max or 1.0, percent=panel.percent, reference=reference
    )
    note = f'<span class="note">- - {panel.reference_name}</span>' if reference is not None else ""
    return f"<section><h2>{panel.title}{note}</h2>{svg}</section>"


def _reference(panel: Panel, runs: RunCurves) -> float | None:
    if not isinstance(panel.reference, str):
        return panel.reference
    found = [curves[panel.reference].values[-1] for curves in runs.values() if panel.reference in curves]
    return found[0] if len(set(found)) == 1 else None


def _x_values(curve: Curve, curves: Mapping[str, Curve], over: Axis) -> np.ndarray:
    """The steps of a curve, or the tokens or minutes at the last logged step up to each, 0 before the first."""
    steps = np.array(curve.steps)
    if over == "steps":
        return steps
    name, unit = X_METRICS[over]
    logged = curves.get(name, Curve(name, (), ()))
    index = np.searchsorted(np.array(logged.steps), steps, side="right")
    return np.array([0.0, *logged.values])[index] / unit


_STYLE = """
body { max-width: 1500px; background: #fbfaf8; }
h2 { font-size: 14px; margin: 0 0 6px; display: flex; justify-content: space-between; }
.run { display: inline-flex; align-items: center; gap: 7px; margin: 0 18px 4px 0; }
.run i { width: 18px; height: 4px; border-radius: 2px; }
.note { font-size: 12px; font-weight: 400; }
main { display: grid; gap: 18px; grid-template-columns: repeat(auto-fill, minmax(400px, 1fr)); }
section { background: #fff; border: 1px solid #e7e5e1; border-radius: 10px; padding: 14px 16px 8px; }
svg { width: 100%; height: auto; display: block; }
"""
