"""The curves of runs as one page that needs nothing else. Before: run directories. After: a browser."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from litebert.analysis.chart import Format, Kind, Line, Points, chart
from litebert.analysis.curves import Curve, read_curves
from litebert.errors import DataError
from litebert.files import write_text

Axis = Literal["steps", "tokens", "minutes"]
EVERY_STEP = "train/learning_rate"
"""What every run records at every step."""
COLOURS = ("#2f6fde", "#d9622b", "#1f9e77", "#a347ba", "#c2a000", "#d43d6a", "#3aa6c9", "#7a6652")
"""One for each run, in this order; then from the first again."""
MEASURED_OVER = {"tokens": ("train/tokens", 1.0), "minutes": ("train/elapsed_seconds", 60.0)}


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _short(value: float) -> str:
    for size, sign in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{sign}"
    return f"{value:.3g}"


@dataclass(frozen=True)
class Panel:
    """One chart: what it shows of every run."""

    title: str
    train: str | None
    held_out: str | None = None
    y_format: Format = _short
    reference: str | float | None = None
    """A value to compare with, or the name of the curve whose last value it is."""
    said: str = ""
    """What the reference is."""
    train_kind: Kind = Kind.MEASURED


PANELS = (
    Panel(
        "Masked tokens right",
        "train/mlm_accuracy",
        "evaluation/mlm_accuracy",
        _percent,
        "evaluation/majority_token_accuracy",
        "majority-token baseline",
    ),
    Panel("Sentence order right", "train/sop_accuracy", "evaluation/sop_accuracy", _percent, 0.5, "chance"),
    Panel("Next sentence right", "train/nsp_accuracy", "evaluation/nsp_accuracy", _percent, 0.5, "chance"),
    Panel("Loss of masked tokens", "train/mlm_loss", "evaluation/mlm_loss"),
    Panel("Loss of sentence order", "train/sop_loss", "evaluation/sop_loss"),
    Panel("Learning rate", "train/learning_rate", train_kind=Kind.EXACT),
    Panel("Norm of the gradient", "train/grad_norm"),
    Panel("Tokens a second", "train/tokens_per_second"),
    Panel("Use of the device (MFU)", "train/mfu", None, _percent),
)


def write_curve_page(runs: Sequence[Path], page: Path, *, over: Axis = "steps") -> Path:
    """Write `page`, an HTML file, with the curves of every run directory side by side; give `page` back."""
    curves = {name: read_curves(run / "metrics.jsonl") for name, run in zip(names_of(runs), runs, strict=True)}
    write_text(page, curve_page(curves, over=over))
    return page


def curve_page(runs: Mapping[str, Mapping[str, Curve]], *, over: Axis = "steps") -> str:
    """The page for the curves of each run by its name."""
    ends = [_points(curves[EVERY_STEP], curves, over)[-1][0] for curves in runs.values() if EVERY_STEP in curves]
    cards = [card for panel in PANELS if ends and (card := _card(panel, runs, over, max(ends)))]
    if not cards:
        raise DataError(f"{', '.join(runs)}: no step is recorded yet; let the run go on for a while")
    chips = [
        f'<span class="chip"><i style="background:{colour}"></i>{escape(name)}</span>'
        for name, colour in zip(runs, _colours(len(runs)), strict=True)
    ]
    title = escape(" · ".join(runs))
    return _PAGE.format(title=title, chips="".join(chips), over=over, cards="\n".join(cards), style=_STYLE)


def names_of(runs: Sequence[Path]) -> list[str]:
    """A name for each run: its last folders, as many as tell it from the others."""
    parts = [run.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise DataError(f"{runs[0]}: is named twice; name each run once")


def _card(panel: Panel, runs: Mapping[str, Mapping[str, Curve]], over: Axis, x_high: float) -> str:
    lines = []
    for (name, curves), colour in zip(runs.items(), _colours(len(runs)), strict=True):
        for source, kind in ((panel.train, panel.train_kind), (panel.held_out, Kind.RARE)):
            if source in curves:
                lines.append(Line(name, _points(curves[source], curves, over), colour, kind))
    if not lines:
        return ""
    reference = _reference(panel, runs)
    svg = chart(lines, title=panel.title, y_format=panel.y_format, x_format=_short, x_high=x_high, reference=reference)
    note = f'<span class="note">- - {panel.said}</span>' if reference is not None else ""
    return f'<section><h2>{panel.title}{note}</h2>{svg}<p class="axis">{over}</p></section>'


def _reference(panel: Panel, runs: Mapping[str, Mapping[str, Curve]]) -> float | None:
    if not isinstance(panel.reference, str):
        return panel.reference
    found = [curves[panel.reference].values[-1] for curves in runs.values() if panel.reference in curves]
    return found[0] if len(set(found)) == 1 else None


def _points(curve: Curve, curves: Mapping[str, Curve], over: Axis) -> Points:
    """The curve over steps, or over what was measured at the last recorded step before each point."""
    if over == "steps":
        return list(zip(curve.steps, curve.values, strict=True))
    name, unit = MEASURED_OVER[over]
    measured = dict(zip(curves[name].steps, curves[name].values, strict=True))
    points, x = [], 0.0
    for step, value in zip(curve.steps, curve.values, strict=True):
        x = measured.get(step, x)
        points.append((x / unit, value))
    return points


def _colours(number: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(number)]


_STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf8; --card: #fff; --ink: #23262b; --soft: #7b818a; --line: #e7e5e1; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171a; --card: #1d2024; --ink: #e6e7e9; --soft: #8d949e; --line: #2d3136; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 32px 24px 48px; max-width: 1500px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 21px; font-weight: 650; margin: 0 0 10px; }
h2 { font-size: 14px; font-weight: 600; margin: 0 0 6px; display: flex; justify-content: space-between; }
.chip { display: inline-flex; align-items: center; gap: 7px; margin: 0 18px 4px 0; }
.chip i { width: 18px; height: 4px; border-radius: 2px; }
.how, .note, .axis { color: var(--soft); font-size: 12px; font-weight: 400; }
.how { margin: 2px 0 20px; }
.axis { margin: -4px 14px 0; text-align: right; }
main { display: grid; gap: 18px; grid-template-columns: repeat(auto-fill, minmax(400px, 1fr)); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px 8px; }
svg { width: 100%; height: auto; display: block; }
.grid { stroke: var(--line); }
.tick { fill: var(--soft); font-size: 11px; }
.band { opacity: .16; }
.mean { stroke-width: 1.8; stroke-linejoin: round; opacity: .75; }
.exact { stroke-width: 1.8; }
.held-out { stroke-width: 2.2; stroke-linejoin: round; }
.reference { stroke: var(--soft); stroke-dasharray: 5 4; }
circle { stroke: var(--card); stroke-width: 1; }
"""
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
<h1>{title}</h1>
<div>{chips}</div>
<p class="how">Lines: running means of training batches, shaded: the middle half of them; dots: held-out text.</p>
<main>
{cards}
</main>
</html>
"""
