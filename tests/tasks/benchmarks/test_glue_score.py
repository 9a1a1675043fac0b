"""The GLUE score: rows of the leaderboard, from their columns to their average."""

import pytest

from litebert.errors import ConfigError
from litebert.tasks.benchmarks.glue_score import GLUE, glue_average

NAMES = [(task, metric) for task, metrics in GLUE.items() for metric in metrics]
# In the order of NAMES: CoLA, SST-2, MRPC (2), STS-B (2), QQP (2), MNLI (2), QNLI, RTE, WNLI.
ALBERT = (69.1, 97.1, 93.4, 91.2, 92.5, 92.0, 74.2, 90.5, 91.3, 91.0, 99.2, 89.2, 91.8)
BERT_LARGE = (60.5, 94.9, 89.3, 85.4, 87.6, 86.5, 72.1, 89.3, 86.7, 85.9, 92.7, 70.1, 65.1)


def scores_of(values):
    scores = {task: {} for task in GLUE}
    for (task, metric), value in zip(NAMES, values, strict=True):
        scores[task][metric] = value / 100
    return scores


@pytest.mark.parametrize(("row", "average"), [(ALBERT, 89.4), (BERT_LARGE, 80.5), ([100] * 13, 100.0), ([0] * 13, 0.0)])
def test_the_average_is_that_of_the_leaderboard(row, average):
    assert glue_average(scores_of(row)) == average


def test_a_missing_task_or_metric_is_named():
    scores = scores_of(ALBERT)
    del scores["mrpc"]["f1"]
    with pytest.raises(ConfigError, match="mrpc lacks 'f1'"):
        glue_average(scores)
