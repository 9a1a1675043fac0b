"""Pictures of runs. Before: curves. After: PNG files. The only file that imports matplotlib."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from litebert.analysis.curves import Curve
from litebert.errors import MissingExtraError
from litebert.files import explained

TRAIN_COLOUR, HELD_OUT_COLOUR, BASELINE_COLOUR = "#9db8d6", "#c0392b", "#7f8c8d"


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
    figure.suptitle(title)
    figure.tight_layout()
    with explained(path):
        figure.savefig(path, dpi=120)
    pyplot.close(figure)


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


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot", needed_for="drawing a curve") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
