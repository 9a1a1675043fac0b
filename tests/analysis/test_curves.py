"""Curves: what was logged, by name and step; smoothed without inventing values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.analysis.curves import Curve, read_curves
from litebert.errors import DataError


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_each_quantity_has_its_own_steps(tmp_path):
    records = [{"step": 1, "loss": 3}, {"step": 2, "loss": 2.5, "accuracy": 0.1}, {"step": 4, "accuracy": 0.2}]
    curves = read_curves(write(tmp_path / "metrics.jsonl", *records))
    assert curves["loss"] == Curve("loss", (1, 2), (3.0, 2.5))
    assert curves["accuracy"] == Curve("accuracy", (2, 4), (0.1, 0.2))


def test_what_is_no_number_is_no_curve(tmp_path):
    record = {"step": 1, "loss": 1.0, "note": "warm", "parts": [1, 2], "nothing": None}
    assert set(read_curves(write(tmp_path / "metrics.jsonl", record))) == {"loss"}


def test_an_empty_file_has_no_curves(tmp_path):
    assert read_curves(write(tmp_path / "metrics.jsonl")) == {}


@pytest.mark.parametrize("line", ["{", '{"loss": 1}', "[1]", "3"])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss": 1.0}\n' + line + "\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl:2: not a JSON object with a step"):
        read_curves(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file; give the metrics"):
        read_curves(tmp_path / "metrics.jsonl")


VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@given(VALUES, st.floats(0.01, 1))
def test_a_smoothed_curve_lies_between_the_extremes(values, share):
    curve = Curve("loss", tuple(range(len(values))), tuple(values)).smoothed(share)
    assert len(curve.values) == len(values)
    assert min(values) - 1e-9 <= min(curve.values)
    assert max(curve.values) <= max(values) + 1e-9
    assert curve.values[0] == pytest.approx(values[0])


@given(VALUES)
def test_over_all_points_the_last_is_their_mean(values):
    curve = Curve("loss", tuple(range(len(values))), tuple(values)).smoothed(1.0)
    assert curve.values[-1] == pytest.approx(sum(values) / len(values))
