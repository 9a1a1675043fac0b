"""The members of an ensemble by their scores."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from litebert.commands.ensemble.ensemble import _ensemble_score


def scored(correct):
    """Ten predictions of which so many are right."""
    predictions = (np.arange(10) < correct).astype(int)
    return SimpleNamespace(
        predicted_for=lambda metric: predictions,
        targets=np.ones(10, int),
        evaluation=SimpleNamespace(metrics={"accuracy": correct / 10}),
    )


def test_median_of_an_even_number_of_members_is_the_better_one_of_two(monkeypatch):
    monkeypatch.setattr("litebert.tasks.metrics.bootstrap_difference.RESAMPLES", 10)
    paths = [Path(name) for name in "abcd"]
    singles = [scored(correct) for correct in (9, 2, 7, 5)]
    task = SimpleNamespace(metric_for_best_model="accuracy")
    found = _ensemble_score(task, paths, scored(8), singles, [0, 1, 2, 3], groups=range(10))
    assert found.median_member == Path("c")
