"""`litebert compare`, `ensemble` and `glue-submission` read export directories as they read model directories."""

import json
from dataclasses import asdict
from zipfile import ZipFile

import pytest

from litebert.commands.compare.compare import compare
from litebert.commands.compare.compare_settings import CompareRun
from litebert.errors import CheckpointError, ConfigError
from litebert.export.export_model import export_model
from litebert.model import matmul_speed
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.runtime import Predictor
from support.data.benchmark_files import write_cola
from support.models.tolerances import close_to
from support.runs.prediction_commands import evaluate_file, run_ensemble, run_submission

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

REVIEWS = "text,label\nthe film was good,good\nthe music was awful,bad\na story,fair\nthe old actor,good\n"


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text(REVIEWS)
    return path


@pytest.fixture
def rated(tmp_path):
    path = tmp_path / "rated.csv"
    path.write_text("text,label\nthe film was good,4.5\nthe music was awful,1\na story,3\nthe old actor,2\n")
    return path


METRIC = "neg_mean_absolute_error"


def compared(models, baseline, data, **options):
    return compare(CompareRun(models=(str(models),), baseline=(str(baseline),), data=data, **options))


def test_an_export_has_the_score_of_its_model_and_no_difference_to_it(saved, exported, rated):
    found = compared(exported / "regressor", saved["regressor"], rated, metrics=(METRIC,)).metrics[METRIC]
    expected = evaluate_file(saved["regressor"], rated, metrics=(METRIC,)).metrics[METRIC]
    assert found.models == close_to([expected])
    assert found.baseline == close_to([expected])
    assert found.difference.difference + expected == close_to(expected)


def test_int8_is_the_quantized_graph(saved, rated, tmp_path):
    export_model(saved["regressor"], tmp_path / "out", precisions=("fp32", "int8"))
    in_fp32, in_int8 = (
        compared(tmp_path / "out", saved["regressor"], rated, metrics=(METRIC,), precision=precision)
        for precision in ("fp32", "int8")
    )
    assert in_fp32.metrics[METRIC].models != in_int8.metrics[METRIC].models


def test_auto_is_the_most_precise_graph_and_only_models_of_torch_are_measured(saved, exported, rated, monkeypatch):
    measured = []
    monkeypatch.setattr(matmul_speed, "fastest_precision", lambda *given: measured.append(given) or "bf16")
    given = exported / "regressor", saved["regressor"], rated
    auto, in_fp32 = (compared(*given, metrics=(METRIC,), precision=each).metrics[METRIC] for each in ("auto", "fp32"))
    assert len(measured) == 1
    assert auto.models == in_fp32.models
    assert auto.baseline != in_fp32.baseline


def test_an_export_is_loaded_once_and_its_warning_shown_once(saved, exported, reviews, monkeypatch, caplog):
    loaded, load = [], Predictor.load
    monkeypatch.setattr(Predictor, "load", lambda *a, **k: loaded.append(a) or load(*a, **k))
    compared(exported / "classifier", saved["classifier"], reviews)
    assert len(loaded) == 1
    assert caplog.text.count("does not say which columns the model was trained on") == 1


def test_a_submission_has_the_predictions_of_an_export(tiny_tokenizer, small_config, tmp_path):
    data = write_cola(tmp_path / "glue")
    model = save_model(
        ForSequenceClassification(small_config, num_labels=2),
        tmp_path / "model",
        labels=("0", "1"),
        problem_type="single_label_classification",
        extra_files=tiny_tokenizer.files(),
    )
    export_model(model, tmp_path / "export")
    contents = []
    for name in ("model", "export"):
        run_submission({"cola": [tmp_path / name]}, data, tmp_path / f"{name}.zip")
        with ZipFile(tmp_path / f"{name}.zip") as archive:
            contents.append(archive.read("CoLA.tsv"))
    assert contents[0] == contents[1]
    assert contents[0].count(b"\n") > 1


@pytest.mark.parametrize("labelled", [True, False])
def test_an_ensemble_of_an_export_and_a_model_predicts_what_one_of_models_predicts(
    saved, exported, reviews, tmp_path, labelled
):
    other = tmp_path / "other"
    export_model(saved["classifier"], other)
    if not labelled:
        reviews.write_text("".join(f"{line.rpartition(',')[0]}\n" for line in REVIEWS.splitlines()))
    runs = {"models": [saved["classifier"]], "exports": [exported / "classifier", other]}
    rows = {}
    for name, members in runs.items():
        run_ensemble(members, reviews, out=tmp_path / f"{name}.jsonl")
        rows[name] = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
    assert [row["prediction"] for row in rows["exports"]] == [row["prediction"] for row in rows["models"]]
    assert [row["probability"] for row in rows["exports"]] == close_to([row["probability"] for row in rows["models"]])


def test_an_ensemble_of_exports_has_a_score_for_each(saved, exported, reviews, tmp_path):
    other = tmp_path / "other"
    export_model(saved["classifier"], other)
    found = run_ensemble([exported / "classifier", other], reviews).score
    assert [asdict(each)["metrics"]["accuracy"] for each in found.members] == [found.evaluation.metrics["accuracy"]] * 2


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("masked", {}, ConfigError, "masked: has no fine-tuned head; export a model directory from `finetune`"),
        ("embedder", {}, ConfigError, "embedder has no head for predictions"),
        ("tagger", {}, ConfigError, "that of .*tagger is token_classification .*; give models for the same task"),
        ("classifier", {"device": "cuda"}, ConfigError, "classifier is an exported model, which runs on the processor"),
        ("classifier", {"precision": "bf16"}, ConfigError, "precision: 'bf16', expected one of fp32, int8"),
    ],
)
def test_what_an_export_cannot_do_is_refused(saved, exported, reviews, name, options, error, message):
    with pytest.raises(error, match=message):
        compared(exported / name, saved["classifier"], reviews, **options)


def test_an_export_without_the_graph_is_refused_with_the_one_that_it_has(saved, reviews, tmp_path):
    export_model(saved["classifier"], tmp_path / "small", precisions=("int8",))
    with pytest.raises(CheckpointError, match=r"has no onnx/model.onnx; choose int8, which it has"):
        compared(tmp_path / "small", saved["classifier"], reviews)
    assert compared(tmp_path / "small", saved["classifier"], reviews, precision="int8").examples == 4
