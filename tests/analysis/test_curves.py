"""Curves: logged metrics by name and step, and their running statistics."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.analysis.curves import Curve, count_evaluations, read_curves, running_statistics
from litebert.errors import DataError
from support.models.tolerances import tolerance


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_curves_have_their_own_steps(tmp_path):
    records = [{"step": 1, "loss": 3}, {"step": 2, "loss": 2.5, "accuracy": 0.1}, {"step": 4, "accuracy": 0.2}]
    curves = read_curves(write(tmp_path / "metrics.jsonl", *records))
    assert curves["loss"] == Curve("loss", (1, 2), (3.0, 2.5))
    assert curves["accuracy"] == Curve("accuracy", (2, 4), (0.1, 0.2))


def test_curves_are_numbers_only(tmp_path):
    record = {"step": 1, "loss": 1.0, "note": "warm", "parts": [1, 2], "nothing": None}
    assert set(read_curves(write(tmp_path / "metrics.jsonl", record))) == {"loss"}


def test_curves_of_an_empty_file_are_empty(tmp_path):
    assert read_curves(write(tmp_path / "metrics.jsonl")) == {}


def test_evaluations_are_counted_whatever_their_values(tmp_path):
    records = [{"step": 1, "train/loss": 3}, {"step": 2, "evaluation/f1": None}, {"step": 4, "evaluation/f1": 0.2}]
    assert count_evaluations(write(tmp_path / "metrics.jsonl", *records)) == 2


@pytest.mark.parametrize("line", ["{", '{"loss": 1}', "[1]", "3"])
def test_curves_name_a_damaged_line(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss": 1.0}\n' + line + "\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl:2: not a JSON object with a step"):
        read_curves(path)


def test_curves_name_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="no such file; give the metrics"):
        read_curves(tmp_path / "metrics.jsonl")


VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=700).map(np.array)


@given(VALUES)
def test_running_statistics_lie_between_the_extremes_and_end_at_the_end(values):
    x = np.arange(1, len(values) + 1)
    found = running_statistics(x, values)
    rounding = tolerance(torch.float64, "compound") * (1 + np.abs(values).max())
    for statistic in (found.mean, found.lower, found.upper):
        assert values.min() - rounding <= statistic.min()
        assert statistic.max() <= values.max() + rounding
    assert (found.lower <= found.upper).all()
    assert len(found.x) <= 241
    assert (found.x[0], found.x[-1]) == (1, len(values))


@given(VALUES)
def test_running_statistics_of_one_window_end_with_those_of_all_values(values):
    found = running_statistics(np.arange(len(values)), values, window=1.0)
    assert found.mean[-1] == pytest.approx(values.mean())
    assert found.upper[-1] == pytest.approx(np.percentile(values, 75))
