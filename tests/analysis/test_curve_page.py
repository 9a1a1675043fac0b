"""The page of curves: one chart per logged metric, with every run, self-contained."""

import json
import re

import pytest

from litebert.analysis import curve_page as curve_page_module
from litebert.analysis.curve_page import COLOURS, curve_page, run_names, write_curve_page
from litebert.analysis.curves import Curve, read_curves
from litebert.errors import DataError

pytestmark = pytest.mark.usefixtures("full_reports")


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


def test_curve_page_is_self_contained(run, tmp_path):
    text = write_curve_page([run("a")], tmp_path / "page.html").read_text()
    assert text.startswith("<!doctype html>")
    assert not re.search(r"""<script|<link|src=|href=["'](?!#)|url\((?!#)""", text)


def test_curve_page_has_a_chart_per_logged_metric(run, tmp_path):
    text = write_curve_page([run("a"), run("b", evaluated=False)], tmp_path / "page.html").read_text()
    assert re.findall(r"<h2>([^<]+)", text) == ["MLM accuracy", "SOP accuracy", "MLM loss", "Learning rate"]
    assert text.count("<section>") == text.count("<svg") == 4
    assert "majority-token baseline" in text
    assert set(re.findall(r'<g id="([ab] [^"]+)"', text)) == {
        *(f"{name} train/{metric}" for name in "ab" for metric in ("mlm_accuracy", "mlm_loss", "learning_rate")),
        *(f"a evaluation/{metric}" for metric in ("mlm_accuracy", "sop_accuracy")),
    }


@pytest.mark.parametrize(("over", "ends"), [("steps", [1, 5]), ("tokens", [10, 50]), ("minutes", [1, 5])])
def test_curve_page_draws_over_steps_tokens_or_minutes(run, monkeypatch, over, ends):
    drawn = []
    monkeypatch.setattr(curve_page_module, "line_chart_svg", lambda series, **options: drawn.append((series, options)))
    curve_page({"a": read_curves(run("a") / "metrics.jsonl")}, over=over)
    series, options = drawn[0]
    assert [series[0].x[0], series[0].x[-1]] == ends
    assert series[1].x.tolist() == ends[1:]
    assert (options["x_label"], options["x_max"]) == (over, ends[1])


@pytest.mark.parametrize("over", ["tokens", "minutes"])
def test_evaluation_of_a_run_without_a_logged_step_is_at_zero(run, monkeypatch, over):
    drawn = []
    monkeypatch.setattr(curve_page_module, "line_chart_svg", lambda series, **options: drawn.append(series))
    early = {"evaluation/mlm_accuracy": Curve("m", (2,), (0.2,))}
    curve_page({"a": read_curves(run("a") / "metrics.jsonl"), "b": early}, over=over)
    assert drawn[0][-1].x.tolist() == [0]


def test_curve_page_omits_a_baseline_that_differs_between_runs():
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


def test_curve_page_reuses_colours_for_many_runs():
    curves = {"train/learning_rate": Curve("r", (1, 2), (0.1, 0.2))}
    text = curve_page({str(number): curves for number in range(len(COLOURS) + 1)})
    assert text.count(f"background:{COLOURS[0]}") == 2


def test_curve_page_of_a_run_without_steps_is_refused(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(DataError, match="no step is recorded yet"):
        write_curve_page([tmp_path], tmp_path / "page.html")


def test_run_names_are_as_long_as_needed(tmp_path):
    assert run_names([tmp_path / "x" / "run", tmp_path / "y" / "other"]) == ["run", "other"]
    assert run_names([tmp_path / "x" / "run", tmp_path / "y" / "run"]) == ["x/run", "y/run"]
    with pytest.raises(DataError, match="given twice"):
        run_names([tmp_path, tmp_path])
