"""The GLUE score as its leaderboard computes it. Before: scores of the tasks. After: runs.

Source: gluebenchmark.com; the rows of its leaderboard, several of which are this module's tests.
"""

from collections.abc import Mapping
from typing import Final

from litebert.errors import ConfigError

GLUE: Final[Mapping[str, tuple[str, ...]]] = {
    "cola": ("matthews",),
    "sst-2": ("accuracy",),
    "mrpc": ("f1", "accuracy"),
    "sts-b": ("pearson", "spearman"),
    "qqp": ("f1", "accuracy"),
    "mnli": ("accuracy", "accuracy-mismatched"),
    "qnli": ("accuracy",),
    "rte": ("accuracy",),
    "wnli": ("accuracy",),
}
"""The metrics of each task; the diagnostics count for nothing."""


def glue_average(scores: Mapping[str, Mapping[str, float]]) -> float:
    """Mean over the tasks of the mean of each task's metrics, in percent, to one decimal.

    Args:
        scores: for each of `GLUE`, its metrics in [-1, 1] under the names there.
    """
    for task, metrics in GLUE.items():
        missing = [name for name in metrics if name not in scores.get(task, {})]
        if missing:
            raise ConfigError(f"scores: {task} lacks {missing[0]!r}; the average is over {', '.join(GLUE)}")
    means = [sum(scores[task][name] for name in names) / len(names) for task, names in GLUE.items()]
    return round(100 * sum(means) / len(means), 1)
