"""`litebert evaluate --precision`: scores beside those of fp32."""

import pytest

from litebert.commands.evaluate.evaluate import EvaluateRun, evaluate
from litebert.errors import DataError
from litebert.inference import pipeline
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.model.prepacked.prepack import has_operators
from support.runs.measured_precision import measure


@pytest.fixture
def run(small_config, tiny_tokenizer, tmp_path):
    """The evaluation of a classifier on a file."""
    model = ForSequenceClassification(small_config, num_labels=2)
    save_model(
        model,
        tmp_path / "model",
        labels=("bad", "good"),
        problem_type="single_label_classification",
        extra_files=tiny_tokenizer.files(),
    )
    rows = "".join(f"the film was {label},{label}\n" for label in ("good", "bad", "good"))
    (tmp_path / "data.csv").write_text("text,label\n" + rows, encoding="utf-8")
    return EvaluateRun(model=str(tmp_path / "model"), data=tmp_path / "data.csv")


@pytest.mark.skipif(not has_operators("int8"), reason="torch without oneDNN")
def test_int8_scores_are_reported_beside_fp32(run):
    result = evaluate(run.replace(precision="int8"))
    values, text = result.to_dict(), result.to_text()
    assert list(values) == ["fp32", "int8"]
    assert all(scores["examples"] == 3 for scores in values.values())
    assert [line.split(":")[0] for line in text.splitlines() if "accuracy " in line] == ["fp32", "int8"]


def test_data_is_read_and_encoded_once_for_two_precisions(run, monkeypatch, caplog):
    encode, encoded = pipeline.Pipeline.encode, []
    monkeypatch.setattr(pipeline.Pipeline, "encode", lambda self, rows: encoded.append(rows) or encode(self, rows))
    assert [*evaluate(run.replace(precision="bf16")).to_dict()] == ["fp32", "bf16"]
    assert len(encoded) == 1
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == len(set(warnings)) == 1, warnings
    assert "1 of 3 rows repeat an earlier one" in warnings[0]


@pytest.mark.parametrize("fastest", ["fp32", "bf16"])
def test_auto_gives_scores_by_precision_whatever_is_fastest_and_loads_the_model_once(
    run, tmp_path, monkeypatch, fastest
):
    load, loaded = pipeline.load_model, []
    monkeypatch.setattr(pipeline, "load_model", lambda directory: loaded.append(directory) or load(directory))
    measure(fastest, monkeypatch)
    page = tmp_path / "report.html"
    result = evaluate(run.replace(precision="auto", report=str(page)))
    values = result.to_dict()
    assert list(values) == list(dict.fromkeys(["fp32", fastest]))
    assert all(scores["examples"] == 3 for scores in values.values())
    assert result.to_text().startswith("fp32: ")
    assert page.exists()
    assert len(loaded) == 1


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ({"data": "absent.csv"}, "absent.csv: no such file; check the path"),
        ({"data": "absent/*.csv", "output": "scores"}, "no file matches"),
        ({"data": None, "task": "cola", "task_dir": "absent"}, "absent: no development split of CoLA"),
        ({"data": None, "task": "cola", "task_dir": ".", "split_file": ["dev=absent.tsv"]}, "absent.tsv: no such file"),
    ],
    ids=["file", "pattern", "benchmark", "own file"],
)
def test_missing_examples_are_an_error_before_the_model_is_loaded(run, tmp_path, monkeypatch, examples, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline.Pipeline, "load", lambda *arguments, **options: pytest.fail("the model was loaded"))
    with pytest.raises(DataError, match=message):
        evaluate(run.replace(precision="auto", **examples))
