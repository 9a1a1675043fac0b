"""The recorded metrics of a run as curves."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from litebert.errors import DataError

POINTS: Final = 240
"""Windows of a drawn curve."""


class RunningStatistics(NamedTuple):
    """Where each window of a curve ends, and its mean and quartiles; float64 [N] each."""

    x: np.ndarray
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class Curve:
    """One metric over the steps of a run."""

    name: str
    steps: tuple[int, ...]
    values: tuple[float, ...]


def running_statistics(x: np.ndarray, values: np.ndarray, *, window: float = 0.04) -> RunningStatistics:
    """Statistics over windows of a share `window` of the values; at most `POINTS` + 1 windows, the last at the end."""
    size, width = len(values), max(1, round(window * len(values)))
    ends = np.unique(size - np.linspace(0, size - 1, POINTS + 1).round().astype(np.int64))
    windows = [values[max(0, end - width) : end] for end in ends]
    lower, upper = np.array([np.percentile(part, (25, 75)) for part in windows]).T
    return RunningStatistics(x[ends - 1], np.array([part.mean() for part in windows]), lower, upper)


def read_curves(metrics: Path) -> dict[str, Curve]:
    """Every metric of a `metrics.jsonl` by its name, such as `train/mlm_accuracy`."""
    points: dict[str, list[tuple[int, float]]] = {}
    for step, record in _records(metrics):
        for name, value in record.items():
            if isinstance(value, int | float):
                points.setdefault(name, []).append((step, float(value)))
    return {name: Curve(name, *zip(*pairs, strict=True)) for name, pairs in points.items()}


def count_evaluations(metrics: Path) -> int:
    """Number of evaluations in a `metrics.jsonl`, also of those whose values were not finite."""
    return sum(any(name.startswith("evaluation/") for name in record) for _, record in _records(metrics))


def _records(metrics: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The step and the metrics of each line; a value that was not finite is None."""
    try:
        lines = metrics.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(f"{metrics}: no such file; give the metrics.jsonl of a run directory") from None
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            step = record.pop("step")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise DataError(f"{metrics}:{number}: not a JSON object with a step; the file is damaged") from None
        yield step, record
