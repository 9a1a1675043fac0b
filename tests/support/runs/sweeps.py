"""Results of sweeps, for tests that compare them."""

import csv
from pathlib import Path

from litebert.commands.sweep.trial_results import TrialResult


def table(out):
    """The rows of table.csv without the times."""
    with (out / "table.csv").open(newline="") as file:
        return [{name: value for name, value in row.items() if name != "minutes"} for row in csv.DictReader(file)]


def done(name, score, *, state="done", replaces=None, **settings):
    metrics = None if score is None else {"accuracy": score, "matthews": score / 2}
    measured = {"metric_for_best_model": "accuracy", "examples": 10, "step": 5, "minutes": 1.0, "model": Path("m")}
    return TrialResult(
        name=name, settings=settings, state=state, replaces=replaces, metrics=metrics, **(measured if metrics else {})
    )


RESULTS = [
    done("a0", 0.6, rate=1, seed=0),
    done("a1", 0.8, rate=1, seed=1),
    done("b0", 0.9, rate=2, seed=0),
    done("b1", 0.5, rate=2, seed=1, state="collapsed"),
    done("c0", None, rate=3, seed=0, state="failed"),
]
