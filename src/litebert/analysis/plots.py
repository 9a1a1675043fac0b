"""Pictures of runs and corpora. Before: curves and counts. After: PNG files. The only file that imports matplotlib."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from litebert.analysis.curves import Curve
from litebert.errors import MissingExtraError
from litebert.files import translate_os_errors

TRAIN_COLOUR, HELD_OUT_COLOUR, BASELINE_COLOUR = "#9db8d6", "#c0392b", "#7f8c8d"

FOUND_COLOUR, EXPECTED_COLOUR = "#0072b2", "#d55e00"
"""Two that colour-blind readers tell apart. Source: Okabe and Ito, Color Universal Design."""

MOST_BINS = 50

LengthCounts = tuple[np.ndarray, np.ndarray]
"""The lengths that occur, ascending, and how many things have each."""


def check_plotting() -> None:
    """Raise MissingExtraError unless pictures can be drawn."""
    _pyplot()


def pretraining_curve(curves: Mapping[str, Curve], baselines: Mapping[str, float], path: Path, *, title: str) -> None:
    """Draw masked-token and, where it is trained, sentence-order accuracy over the steps, beside their baselines.

    Args:
        curves: from `read_curves`.
        baselines: `mlm` and `sop`: the accuracy of knowing nothing.
        path: the PNG to write.
        title: what the picture shows.
    """
    pyplot = _pyplot()
    names = {"mlm": "masked tokens", "sop": "sentence order"}
    drawn = [name for name in names if f"train/{name}_accuracy" in curves]
    figure, axes = pyplot.subplots(1, len(drawn), figsize=(5.5 * len(drawn), 4), squeeze=False)
    for axis, name in zip(axes[0], drawn, strict=True):
        _panel(axis, curves, name, baseline=baselines.get(name), title=names[name])
    _finish(figure, path, title=title)


def length_histograms(lengths: Mapping[str, LengthCounts], path: Path, *, title: str) -> None:
    """Draw a panel for each kind of thing: how many there are of each length, in tokens.

    Args:
        lengths: kind, such as `sentence` → the lengths that occur and how many things have each.
        path: the PNG to write.
        title: what the picture shows.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(1, len(lengths), figsize=(4.5 * len(lengths), 3.8), squeeze=False)
    for axis, (kind, (values, counts)) in zip(axes[0], lengths.items(), strict=True):
        _histogram(axis, np.asarray(values), np.asarray(counts), kind=kind)
    _finish(figure, path, title=title)


def example_counts(
    *,
    ngrams: Mapping[int, float],
    expected_ngrams: Mapping[int, float],
    shown: Mapping[str, float],
    labels: Mapping[str, float],
    path: Path,
    title: str,
) -> None:
    """Draw what masking and pairing came to, as shares: n-grams beside what was drawn, what is shown, labels."""
    figure, (left, middle, right) = _pyplot().subplots(1, 3, figsize=(13.5, 3.8))
    places = np.arange(len(ngrams))
    _bars(left, places - 0.2, ngrams.values(), width=0.38, color=FOUND_COLOUR, label="came of it")
    _bars(left, places + 0.2, expected_ngrams.values(), width=0.38, color=EXPECTED_COLOUR, label="drawn: p(n)")
    left.set_xticks(places, [str(size) for size in ngrams])
    left.set(title="masked n-grams", xlabel="words in a row", ylabel="share of the n-grams")
    left.legend(frameon=False)
    for axis, counts, name in ((middle, shown, "tokens to predict"), (right, labels, "examples")):
        _bars(axis, np.arange(len(counts)), counts.values(), width=0.6, color=FOUND_COLOUR)
        axis.set_xticks(np.arange(len(counts)), list(counts))
        axis.set(ylabel=f"share of the {name}")
    middle.set(title="a token to predict is shown as")
    right.set(title="second task")
    _finish(figure, path, title=title)


def _panel(axis: Any, curves: Mapping[str, Curve], name: str, *, baseline: float | None, title: str) -> None:
    training = curves[f"train/{name}_accuracy"].smoothed()
    axis.plot(training.steps, training.values, color=TRAIN_COLOUR, label="training batches (running mean)")
    if held_out := curves.get(f"evaluation/{name}_accuracy"):
        axis.plot(held_out.steps, held_out.values, "o-", color=HELD_OUT_COLOUR, label="held-out text")
    if baseline is not None:
        axis.axhline(baseline, color=BASELINE_COLOUR, linestyle="--", label=f"knowing nothing ({baseline:.1%})")
    axis.set(title=title, xlabel="step", ylabel="accuracy")
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)


def _histogram(axis: Any, values: np.ndarray, counts: np.ndarray, *, kind: str) -> None:
    """Bins of whole numbers of tokens, up to the length that only one in a hundred exceeds."""
    below = counts.cumsum() / counts.sum()
    median, usual = values[np.searchsorted(below, [0.5, 0.99])]
    width = -(-(usual - values[0] + 1) // MOST_BINS)
    edges = np.arange(values[0], usual + width + 1, width)
    axis.hist(values, bins=edges, weights=counts, color=FOUND_COLOUR)
    axis.axvline(median, color=EXPECTED_COLOUR, linestyle="--", label=f"median {median:,}")
    if longer := int(counts[values >= edges[-1]].sum()):
        axis.plot([], [], " ", label=f"{longer:,} are longer, up to {values[-1]:,}")
    axis.set(title=f"{kind}s: {counts.sum():,}", xlabel=f"tokens per {kind}", ylabel=f"{kind}s")
    axis.locator_params(axis="x", nbins=5)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.grid(axis="y", alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)


def _bars(axis: Any, places: np.ndarray, values: Collection[float], **style: Any) -> None:
    bars = axis.bar(places, list(values), **style)
    axis.bar_label(bars, [f"{value:.1%}" for value in values], fontsize=8, padding=2)
    axis.yaxis.set_major_formatter("{x:.0%}")
    axis.margins(y=0.12)
    axis.spines[["top", "right"]].set_visible(False)


def _finish(figure: Any, path: Path, *, title: str) -> None:
    figure.suptitle(title)
    figure.tight_layout()
    with translate_os_errors(path):
        figure.savefig(path, dpi=120)
    _pyplot().close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot", needed_for="drawing a curve") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
