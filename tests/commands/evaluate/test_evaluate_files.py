"""Evaluation on each of many labelled files."""

import json

import pytest

from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.errors import ConfigError
from litebert.model import matmul_speed
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification


@pytest.fixture
def model(tiny_tokenizer, small_config, tmp_path):
    return save_model(
        ForSequenceClassification(small_config, num_labels=2),
        tmp_path / "model",
        labels=("bad", "good"),
        problem_type="single_label_classification",
        extra_files=tiny_tokenizer.files(),
    )


@pytest.fixture
def labelled(tmp_path):
    for name, rows in {"a.csv": 4, "b.tsv": 6}.items():
        separator = "," if name.endswith("csv") else "\t"
        lines = [
            separator.join((f"the film was {'good' if row % 2 else 'bad'} {row}", ("bad", "good")[row % 2]))
            for row in range(rows)
        ]
        (tmp_path / name).write_text("\n".join([separator.join(("text", "label")), *lines]) + "\n")
    return tmp_path


def test_evaluate_of_many_files_has_the_scores_of_each(model, labelled, tmp_path):
    result = evaluate(EvaluateRun(model=str(model), data=labelled / "?.*", output=tmp_path / "scores"))
    for name in ("a.csv", "b.tsv"):
        expected = evaluate(EvaluateRun(model=str(model), data=labelled / name)).to_dict()
        written = json.loads((tmp_path / "scores" / f"{name}.json").read_text())
        assert written == json.loads(json.dumps(expected))
        assert result.to_dict()["results"][f"{name}.json"]["metrics"] == expected["metrics"]
        assert f"  {name}: accuracy {expected['metrics']['accuracy']:.4f}" in result.to_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "*.csv"}, "a pattern of files has scores for each"),
        ({"data": "*.csv", "output": "out", "report": "r.html"}, "report: only for one file"),
        ({"data": "a.csv", "output": "out"}, "output: only for a pattern of files"),
        ({"data": "a.csv", "files": {"workers": 2}}, "workers: only for a pattern of files"),
    ],
)
def test_evaluate_rejects_settings_of_many_files_for_one_and_vice_versa(options, message):
    with pytest.raises(ConfigError, match=message):
        EvaluateRun.parse({"model": "m", **options}, where="evaluate")


def test_scores_in_another_precision_are_not_taken_for_complete(model, labelled, tmp_path):
    run = EvaluateRun(model=str(model), data=labelled / "?.*", output=tmp_path / "scores")
    evaluate(run)
    before = {file: file.stat().st_mtime_ns for file in run.output.glob("*.json")}
    assert before
    evaluate(run)
    assert {file: file.stat().st_mtime_ns for file in before} == before
    evaluate(run.replace(precision="bf16"))
    assert all(file.stat().st_mtime_ns != time for file, time in before.items())


def test_auto_is_measured_once_for_all_files(model, labelled, tmp_path, monkeypatch, caplog):
    measured = []
    monkeypatch.setattr(matmul_speed, "fastest_precision", lambda *_: measured.append("bf16") or "bf16")
    run = EvaluateRun(model=str(model), data=labelled / "?.*", output=tmp_path / "scores", precision="auto")
    evaluate(run)
    assert measured == ["bf16"]
    times = {file: file.stat().st_mtime_ns for file in run.output.glob("*.json")}
    evaluate(run.replace(precision="bf16"))
    assert {file: file.stat().st_mtime_ns for file in times} == times
    scores = evaluate(EvaluateRun(model=str(model), data=labelled / "a.csv", precision="auto"))
    assert list(scores.to_dict()) == ["fp32", "bf16"]
