"""The numbers of a run as curves. Before: the `metrics.jsonl` of a run directory. After: plots."""

import json
from dataclasses import dataclass
from pathlib import Path

from litebert.errors import DataError


@dataclass(frozen=True)
class Curve:
    """One quantity over the steps of a run."""

    name: str
    steps: tuple[int, ...]
    values: tuple[float, ...]

    def smoothed(self, share: float = 0.05) -> "Curve":
        """Running mean over `share` of the points, for a quantity measured on single batches."""
        width = max(1, round(share * len(self.values)))
        sums = [0.0]
        for value in self.values:
            sums.append(sums[-1] + value)
        ends = range(1, len(self.values) + 1)
        means = tuple((sums[end] - sums[max(0, end - width)]) / min(end, width) for end in ends)
        return Curve(self.name, self.steps, means)


def read_curves(metrics: Path) -> dict[str, Curve]:
    """Every quantity of a `metrics.jsonl` by its name, such as `train/mlm_accuracy`."""
    points: dict[str, list[tuple[int, float]]] = {}
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
        for name, value in record.items():
            if isinstance(value, int | float):
                points.setdefault(name, []).append((step, float(value)))
    return {name: Curve(name, *zip(*pairs, strict=True)) for name, pairs in points.items()}
