"""The page of curves: one card for each quantity there is, every run in it, nothing fetched from elsewhere."""

import json

import pytest

from litebert.analysis.curve_page import COLOURS, curve_page, names_of, write_curve_page
from litebert.analysis.curves import Curve
from litebert.errors import DataError


def record(step, **values):
    return {"step": step, **{f"train/{name}": value for name, value in values.items()}}


@pytest.fixture
def run(tmp_path):
    """A run directory whose loss is the step."""

    def make(name, *, steps=5, evaluated=True, scale=10):
        records = [
            record(k, learning_rate=0.1, mlm_loss=k, mlm_accuracy=k / 10, tokens=k * scale, elapsed_seconds=60 * k)
            for k in range(1, steps + 1)
        ]
        if evaluated:
            values = {"mlm_accuracy": 0.25, "majority_token_accuracy": 0.05, "sop_accuracy": 0.5}
            records.append({"step": steps, **{f"evaluation/{name}": value for name, value in values.items()}})
        directory = tmp_path / name
        directory.mkdir(parents=True)
        (directory / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
        return directory

    return make


def test_a_page_stands_alone(run, tmp_path):
    page = write_curve_page([run("a")], tmp_path / "page.html")
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "http" not in text
    assert "<script" not in text


def test_a_card_for_each_quantity_that_any_run_has(run, tmp_path):
    text = write_curve_page([run("a"), run("b", evaluated=False)], tmp_path / "page.html").read_text()
    assert text.count("<section>") == 4, "masked tokens, sentence order, loss, learning rate"
    assert "majority-token baseline" in text
    assert "Next sentence" not in text
    assert text.count(f'stroke="{COLOURS[0]}"') == 5
    assert text.count(f'stroke="{COLOURS[1]}"') == 3


@pytest.mark.parametrize(("over", "end"), [("steps", "5"), ("tokens", "50"), ("minutes", "5")])
def test_runs_are_drawn_over_what_is_asked_for(run, tmp_path, over, end):
    text = write_curve_page([run("a")], tmp_path / "page.html", over=over).read_text()
    assert f"a at {end}: 25 %" in text
    assert f'<p class="axis">{over}</p>' in text


def test_a_baseline_that_differs_between_runs_is_not_drawn():
    curves = [
        {
            "train/learning_rate": Curve("r", (1,), (0.1,)),
            "evaluation/mlm_accuracy": Curve("m", (1,), (0.2,)),
            "evaluation/majority_token_accuracy": Curve("b", (1,), (baseline,)),
        }
        for baseline in (0.04, 0.05)
    ]
    assert "majority-token" in curve_page({"a": curves[0], "b": curves[0]})
    assert "majority-token" not in curve_page({"a": curves[0], "b": curves[1]})


def test_many_runs_have_a_colour_each_then_again():
    curves = {"train/learning_rate": Curve("r", (1, 2), (0.1, 0.2))}
    text = curve_page({str(number): curves for number in range(len(COLOURS) + 1)})
    assert text.count(f'stroke="{COLOURS[0]}"') == 2


def test_a_run_without_a_step_is_told(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(DataError, match="no step is recorded yet"):
        write_curve_page([tmp_path], tmp_path / "page.html")


def test_names_are_as_long_as_needed(tmp_path):
    assert names_of([tmp_path / "x" / "run", tmp_path / "y" / "other"]) == ["run", "other"]
    assert names_of([tmp_path / "x" / "run", tmp_path / "y" / "run"]) == ["x/run", "y/run"]
    with pytest.raises(DataError, match="named twice"):
        names_of([tmp_path, tmp_path])
