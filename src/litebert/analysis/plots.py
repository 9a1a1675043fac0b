"""Plots of runs and corpora, as PNG files or SVG. The only file that imports matplotlib."""

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from litebert.analysis.curves import Curve, running_statistics
from litebert.errors import import_extra
from litebert.files import translate_os_errors

TRAIN_COLOUR, VALIDATION_COLOUR, BASELINE_COLOUR = "#9db8d6", "#c0392b", "#7f8c8d"

OBSERVED_COLOUR, EXPECTED_COLOUR = "#0072b2", "#d55e00"
"""Distinguishable for colour-blind readers. Source: Okabe and Ito, Color Universal Design."""

MAX_BINS = 50
MAX_LINES = 8
"""Most lines of one panel."""
EARLY_SHARE = 0.08
"""Share of the x axis that the y axis need not cover: losses begin far above the range of interest."""

LengthCounts = tuple[np.ndarray, np.ndarray]
"""The lengths that occur, ascending, and the count of each."""


Style = Literal["measured", "exact", "validation"]
"""`measured`: noisy, drawn as running mean with quartiles; `exact`: drawn as it is; `validation`: with markers."""


@dataclass(frozen=True)
class Series:
    """One line of a chart."""

    label: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    style: Style


def check_plotting() -> None:
    """Raise MissingExtraError unless matplotlib is installed."""
    _matplotlib()


def line_chart_svg(
    series: Sequence[Series], *, title: str, x_label: str, x_max: float, percent: bool, reference: float | None = None
) -> str:
    """An `<svg>` element with at least one line, from x = 0 to `x_max`, and `reference` as a dashed line."""
    with _matplotlib().rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        figure, axis = _subplots(figsize=(5, 2.8))
        shown = [_draw_series(axis, one, from_x=EARLY_SHARE * x_max) for one in series]
        if reference is not None:
            axis.axhline(reference, color=BASELINE_COLOUR, linestyle="--", linewidth=1, gid="reference")
            shown.append(np.array([reference]))
        low, high = min(values.min() for values in shown), max(values.max() for values in shown)
        margin = 0.06 * (high - low or abs(high) or 1.0)
        axis.set(xlim=(0, x_max), ylim=(low - margin, high + margin), xlabel=x_label)
        axis.xaxis.set_major_formatter(_number)
        axis.yaxis.set_major_formatter((lambda value, _: f"{100 * value:.3g} %") if percent else _number)
        axis.grid(axis="y", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        content = io.StringIO()
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None})
    return content.getvalue()[content.getvalue().index("<svg") :]


def pretraining_curve(curves: Mapping[str, Curve], baselines: Mapping[str, float], path: Path, *, title: str) -> None:
    """Plot MLM accuracy and, where it is trained, SOP accuracy over the steps into a PNG file.

    `curves` come from `read_curves`; `baselines` are the accuracy of the majority-token baseline, `mlm`, and of
    chance, `sop`.
    """
    names = {"mlm": "MLM", "sop": "SOP"}
    present = [name for name in names if f"train/{name}_accuracy" in curves]
    figure, axes = _subplots(1, len(present), figsize=(5.5 * len(present), 4), squeeze=False)
    for axis, name in zip(axes[0], present, strict=True):
        _accuracy_panel(axis, curves, name, baseline=baselines.get(name), title=f"{names[name]} accuracy")
    _save(figure, path, title=title)


def length_histograms(lengths: Mapping[str, LengthCounts], path: Path, *, title: str) -> None:
    """Plot a histogram of lengths in tokens for each unit, such as `sentence`, into a PNG file."""
    figure, axes = _subplots(1, len(lengths), figsize=(4.5 * len(lengths), 3.8), squeeze=False)
    for axis, (unit, (values, counts)) in zip(axes[0], lengths.items(), strict=True):
        _histogram(axis, np.asarray(values), np.asarray(counts), unit=unit)
    _save(figure, path, title=title)


def example_counts(
    *,
    ngrams: Mapping[int, float],
    expected_ngrams: Mapping[int, float],
    shown: Mapping[str, float],
    labels: Mapping[str, float],
    path: Path,
    title: str,
) -> None:
    """Plot shares: masked n-grams beside their expected shares, replacements of masked tokens, sentence-pair labels."""
    figure, (left, middle, right) = _subplots(1, 3, figsize=(13.5, 3.8))
    positions = np.arange(len(ngrams))
    _bars(left, positions - 0.2, ngrams.values(), width=0.38, color=OBSERVED_COLOUR, label="observed")
    _bars(left, positions + 0.2, expected_ngrams.values(), width=0.38, color=EXPECTED_COLOUR, label="expected: p(n)")
    left.set_xticks(positions, [str(size) for size in ngrams])
    left.set(title="masked n-grams", xlabel="n, in words", ylabel="share of the n-grams")
    left.legend(frameon=False)
    for axis, counts, name in ((middle, shown, "masked tokens"), (right, labels, "examples")):
        _bars(axis, np.arange(len(counts)), counts.values(), width=0.6, color=OBSERVED_COLOUR)
        axis.set_xticks(np.arange(len(counts)), list(counts))
        axis.set(ylabel=f"share of the {name}")
    middle.set(title="replacement of masked tokens")
    right.set(title="sentence pairs")
    _save(figure, path, title=title)


def curves_figure(curves: Mapping[str, Curve]) -> Any:
    """A figure of the losses of training and of the metrics of evaluations over the steps."""
    losses = [curve for name, curve in curves.items() if name.startswith("train/") and name.endswith("loss")]
    scores = [curve for name, curve in curves.items() if name.startswith("evaluation/") and len(curve.steps) > 0]
    figure, axes = _subplots(1, 2, figsize=(11, 4))
    for axis, shown, title in zip(axes, (losses, scores), ("training losses", "evaluations"), strict=True):
        for curve in shown[:MAX_LINES]:
            axis.plot(curve.steps, curve.values, marker="o" if len(curve.steps) < 30 else None, label=curve.name)
        axis.set(title=title, xlabel="step")
        axis.grid(alpha=0.3)
        if shown:
            axis.legend(fontsize=8)
    figure.tight_layout()
    return figure


def confusion_figure(matrix: Sequence[Sequence[int]], labels: Sequence[str]) -> Any:
    """A figure of the counts by true and predicted label."""
    figure, axis = _subplots(figsize=(1.5 + 0.7 * len(labels), 1.2 + 0.6 * len(labels)))
    axis.imshow(matrix, cmap="Blues")
    largest = max(map(max, matrix))
    for row, counts in enumerate(matrix):
        for column, count in enumerate(counts):
            colour = "white" if count > largest / 2 else "black"
            axis.text(column, row, f"{count:,}", ha="center", va="center", color=colour)
    names = list(map(_plain, labels))
    axis.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axis.set_yticks(range(len(names)), names)
    axis.set(xlabel="predicted label", ylabel="true label")
    figure.tight_layout()
    return figure


def bars_figure(values: Mapping[str, float]) -> Any:
    """A figure with a bar for each value."""
    figure, axis = _subplots(figsize=(1 + 1.2 * len(values), 3.5))
    bars = axis.bar(list(values), list(values.values()), width=0.6, color=OBSERVED_COLOUR)
    axis.bar_label(bars, [f"{value:.4g}" for value in values.values()])
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure


@dataclass(frozen=True)
class Panel:
    """One of several charts side by side."""

    x_label: str
    y_label: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """Label → x and y."""


def line_panels(panels: Sequence[Panel], path: Path, *, title: str) -> None:
    """Charts side by side, written as PNG; lines of the same label have the same colour."""
    figure, axes = _subplots(1, len(panels), figsize=(5.2 * len(panels), 3.8), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        for label, (x, y) in panel.lines.items():
            axis.plot(x, y, "o-", markersize=3, label=label)
        axis.set(xlabel=panel.x_label, ylabel=panel.y_label)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
        # Above the axes, where it covers no point.
        axis.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    _save(figure, path, title=title)


def _draw_series(axis: Any, series: Series, *, from_x: float) -> np.ndarray:
    """Draw a line; returns the values that the y axis must cover: those from `from_x` on, or all if none."""
    x, shown = series.x, [series.y]
    if series.style == "measured":
        running = running_statistics(series.x, series.y)
        x, shown = running.x, [running.mean, running.lower, running.upper]
        axis.fill_between(running.x, running.lower, running.upper, color=series.colour, alpha=0.16, linewidth=0)
    marker = "o" if series.style == "validation" else None
    axis.plot(x, shown[0], color=series.colour, linewidth=1.6, marker=marker, markersize=4, gid=series.label)
    late = x >= from_x
    return np.concatenate([values[late] if late.any() else values for values in shown])


def _accuracy_panel(axis: Any, curves: Mapping[str, Curve], name: str, *, baseline: float | None, title: str) -> None:
    train = curves[f"train/{name}_accuracy"]
    running = running_statistics(np.array(train.steps), np.array(train.values))
    axis.plot(running.x, running.mean, color=TRAIN_COLOUR, label="training (running mean)")
    if validation := curves.get(f"evaluation/{name}_accuracy"):
        axis.plot(validation.steps, validation.values, "o-", color=VALIDATION_COLOUR, label="validation")
    if baseline is not None:
        axis.axhline(baseline, color=BASELINE_COLOUR, linestyle="--", label=f"baseline ({baseline:.1%})")
    axis.set(title=title, xlabel="step", ylabel="accuracy")
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)


def _histogram(axis: Any, values: np.ndarray, counts: np.ndarray, *, unit: str) -> None:
    """Bins of a whole number of tokens, up to the 99th percentile."""
    below = counts.cumsum() / counts.sum()
    median, percentile_99 = values[np.searchsorted(below, [0.5, 0.99])]
    width = -(-(percentile_99 - values[0] + 1) // MAX_BINS)
    edges = np.arange(values[0], percentile_99 + width + 1, width)
    shown = values < edges[-1]  # the last bin of a histogram includes its upper edge
    axis.hist(values[shown], bins=edges, weights=counts[shown], color=OBSERVED_COLOUR)
    axis.axvline(median, color=EXPECTED_COLOUR, linestyle="--", label=f"median {median:,}")
    if longer := int(counts[~shown].sum()):
        axis.plot([], [], " ", label=f"{longer:,} are longer, up to {values[-1]:,}")
    axis.set(title=f"{unit}s: {counts.sum():,}", xlabel=f"tokens per {unit}", ylabel=f"{unit}s")
    axis.locator_params(axis="x", nbins=5)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.grid(axis="y", alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)


def _bars(axis: Any, positions: np.ndarray, values: Collection[float], **style: Any) -> None:
    bars = axis.bar(positions, list(values), **style)
    axis.bar_label(bars, [f"{value:.1%}" for value in values], fontsize=8, padding=2)
    axis.yaxis.set_major_formatter("{x:.0%}")
    axis.margins(y=0.12)
    axis.spines[["top", "right"]].set_visible(False)


def _number(value: float, _: int) -> str:
    for size, suffix in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def _save(figure: Any, path: Path, *, title: str) -> None:
    figure.suptitle(_plain(title))
    figure.tight_layout()
    with translate_os_errors(path):
        figure.savefig(path, dpi=120)


def _subplots(rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], squeeze: bool = True) -> Any:
    """A figure and its axes, as `pyplot.subplots` returns them, without pyplot: it holds figures and sets a backend."""
    _matplotlib()
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=figsize)
    figure._repr_png_ = partial(_png, figure)  # by which a notebook shows it
    return figure, figure.subplots(rows, columns, squeeze=squeeze)


def _plain(name: str) -> str:
    """A name whose dollar signs are shown, instead of enclosing a formula."""
    return name.replace("$", r"\$")


def _png(figure: Any) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def _matplotlib() -> Any:
    return import_extra("matplotlib", extra="plot", needed_for="plotting")
