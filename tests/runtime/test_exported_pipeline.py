"""`litebert predict` and `litebert evaluate` read export directories as they read model directories."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from litebert.commands.evaluate.evaluate import EvaluateRun, evaluate
from litebert.commands.model_loading.exported_pipeline import load_exported
from litebert.errors import CheckpointError, ConfigError, DataError, NotFiniteError
from litebert.export.export_model import export_model
from litebert.inference.pipeline import Pipeline
from litebert.runtime import Predictor
from litebert.runtime.onnx_model import OnnxModel
from litebert.tasks.labelled_data import Example
from litebert.tasks.types import registry
from litebert.tasks.types.classification.classification import CLASSIFICATION
from support.models.tolerances import close_to
from support.runs.prediction_commands import run_predict

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

TEXTS = [{"text": text} for text in ("the film was good", "this story is awful, in 1999.", "", "good " * 60)]
CHOICES = [{"text": "the film", "text_pair": "was _?", "option1": "good", "option2": "bad", "option3": "old"}]
SENTENCES = [{"text": ["the", "old", "actor"]}, {"text": ["music"] * 60}]
MASKED = [{"text": "the [MASK] was [MASK]."}, {"text": "the old [MASK]"}]
QUESTIONS = {
    "version": "v2.0",
    "data": [
        {
            "title": "films",
            "paragraphs": [
                {
                    "context": "the film was good, in 2024. " * 8,
                    "qas": [
                        {
                            "id": str(place),
                            "question": question,
                            "is_impossible": False,
                            "answers": [{"text": "the film", "answer_start": 0}],
                        }
                        for place, question in enumerate(("What was good?", "Who?"))
                    ],
                }
            ],
        }
    ],
}
ROWS = {
    "classifier": TEXTS,
    "regressor": TEXTS,
    "several": TEXTS,
    "chooser": CHOICES,
    "tagger": SENTENCES,
    "pretraining": MASKED,
    "masked": MASKED,
}
REVIEWS = "text,label\nthe film was good,good\nthe music was awful,bad\na story,fair\nthe old actor,good\n"


def split(value):
    """The numbers in a JSON value, in order, and the value with zeros for them."""
    if isinstance(value, float):
        return [value], 0
    if isinstance(value, dict):
        numbers, rest = split([*value.values()])
        return numbers, [*value, rest]
    if isinstance(value, list):
        parts = [split(part) for part in value]
        return [number for numbers, _ in parts for number in numbers], [rest for _, rest in parts]
    return [], value


def predicted(model, source, output):
    """The numbers and all else of what `predict` writes in fp32."""
    run_predict(model, source, output, precision="fp32")
    return split([json.loads(line) for line in output.read_text().splitlines()])


@pytest.mark.parametrize("name", ROWS)
def test_predictions_of_a_file_are_those_of_the_model_directory(saved, exported, tmp_path, name):
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS[name]))
    numbers, rest = predicted(saved[name], source, tmp_path / "model.jsonl")
    found = predicted(exported / name, source, tmp_path / "export.jsonl")
    assert len(numbers) >= len(ROWS[name])
    assert found == (close_to(numbers, depth="compound"), rest)


@pytest.mark.parametrize("name", ["reader", "doubter"])
def test_answers_to_questions_are_those_of_the_model_directory(saved, exported, tmp_path, name):
    source = tmp_path / "questions.json"
    source.write_text(json.dumps(QUESTIONS))
    for model, output in ((saved[name], "model"), (exported / name, "export")):
        run_predict(model, source, tmp_path / output, precision="fp32")
    answers = (tmp_path / output / "predictions.json" for output in ("model", "export"))
    expected, found = (json.loads(each.read_text()) for each in answers)
    assert found == expected
    assert [*found] == ["0", "1"]


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text(REVIEWS)
    return path


def scores(model, reviews, **options):
    return evaluate(EvaluateRun(model=str(model), data=reviews, **options)).to_dict()


def test_scores_are_those_of_the_model_directory(saved, exported, reviews):
    found, expected = scores(exported / "classifier", reviews), scores(saved["classifier"], reviews)
    calibrations = [each.pop("calibration") for each in (found, expected)]
    assert found == expected
    assert calibrations[0]["expected_error"] == close_to(calibrations[1]["expected_error"])


@pytest.mark.parametrize(("precision", "expected"), [("int8", ["fp32", "int8"]), ("auto", ["fp32"])])
def test_scores_of_a_quantized_graph_are_shown_beside_those_of_fp32(exported, reviews, precision, expected):
    assert [*scores(exported / "classifier", reviews, precision=precision)] == expected


def test_an_export_in_int8_alone_is_scored_alone(saved, reviews, tmp_path):
    export_model(saved["classifier"], tmp_path / "small", precisions=("int8",))
    for precision in ("int8", "auto"):
        assert [*scores(tmp_path / "small", reviews, precision=precision)] == ["int8"]
    with pytest.raises(CheckpointError, match=r"has no onnx/model.onnx; choose int8, which it has"):
        scores(tmp_path / "small", reviews)


def test_files_of_a_pattern_have_the_most_precise_graph_without_a_measurement(exported, reviews, tmp_path, monkeypatch):
    monkeypatch.setattr("litebert.model.matmul_speed.fastest_precision", lambda *_: pytest.fail("measured"))
    shutil.copy(reviews, tmp_path / "reviews-2.csv")
    pattern = str(tmp_path / "reviews*.csv")
    run_predict(exported / "classifier", pattern, tmp_path / "predicted", precision="auto")
    assert len(list((tmp_path / "predicted").glob("*.csv"))) == 2
    assert json.loads((tmp_path / "predicted" / ".done" / ".precision.json").read_text())["precision"] == "fp32"
    written = scores(exported / "classifier", pattern, output=tmp_path / "scores", precision="auto")
    assert written["files"] == 2


def test_predictions_in_int8_are_those_of_the_quantized_graph(exported, reviews, tmp_path):
    run_predict(exported / "classifier", reviews, tmp_path / "out.jsonl", precision="int8")
    found = [json.loads(line)["probability"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    texts = [line.rpartition(",")[0] for line in REVIEWS.splitlines()[1:]]
    in_int8, in_fp32 = (
        [each.probability for each in Predictor.load(exported / "classifier", precision=precision).classify(texts)]
        for precision in ("int8", "fp32")
    )
    assert found == close_to(in_int8)
    assert found != close_to(in_fp32)


@pytest.mark.parametrize("settings", [{"max_length": 12}, {"max_length": 12, "long_texts": "windows"}])
def test_settings_of_the_fine_tuning_are_those_of_the_export(saved, tmp_path, settings):
    task = tmp_path / "task"
    shutil.copytree(saved["classifier"], task)
    (task / "input_settings.json").write_text(json.dumps(settings))
    export_model(task, tmp_path / "out")
    pipeline, expected = load_exported(tmp_path / "out"), Pipeline.load(task)
    assert pipeline.settings == expected.settings
    examples = [Example(text=text) for text in ("good " * 40, "bad music " * 30)]
    assert np.array(pipeline.predict(examples)) == close_to(np.array(expected.predict(examples)))


def test_an_export_without_its_columns_says_that_pairs_must_be_named(exported, caplog):
    load_exported(exported / "classifier")
    assert "does not say which columns the model was trained on; if it reads pairs" in caplog.text
    caplog.clear()
    load_exported(exported / "tagger")
    assert not caplog.records


def test_a_damaged_file_of_columns_is_an_error(saved, tmp_path):
    task = tmp_path / "task"
    shutil.copytree(saved["classifier"], task)
    (task / "task.json").write_text('{"task_type": "classification", "text": "review", "label": "stars"}')
    export_model(task, tmp_path / "out")
    (tmp_path / "out" / "task.json").write_text('{"task_type": "classification"}')
    with pytest.raises(CheckpointError, match=r"task\.json"):
        load_exported(tmp_path / "out")


def test_a_task_type_of_your_own_is_refused(saved, tmp_path, monkeypatch):
    monkeypatch.setitem(registry._TASK_TYPES, "mine", replace(CLASSIFICATION, name="mine"))
    task = tmp_path / "task"
    shutil.copytree(saved["classifier"], task)
    (task / "task.json").write_text('{"task_type": "mine"}')
    export_model(task, tmp_path / "out")
    with pytest.raises(ConfigError, match="mine is a task type of your own; give the model directory"):
        load_exported(tmp_path / "out")


def test_columns_of_training_are_read_unless_the_head_is_another(saved, reviews, tmp_path):
    task = tmp_path / "task"
    shutil.copytree(saved["classifier"], task)
    columns = {"text": "review", "label": "stars"}
    (task / "task.json").write_text(json.dumps({"task_type": "classification", **columns}))
    reviews.write_text(REVIEWS.replace("text,label", "review,stars"))
    export_model(task, tmp_path / "out")
    assert scores(tmp_path / "out", reviews)["metrics"] == scores(task, reviews)["metrics"]
    export_model(task, tmp_path / "embedder", as_model="SentenceEmbedder")
    assert not (tmp_path / "embedder" / "task.json").exists()


def test_numbers_that_are_not_finite_are_an_error(exported, reviews, monkeypatch):
    run = OnnxModel.run
    monkeypatch.setattr(OnnxModel, "run", lambda *arguments: [each * float("nan") for each in run(*arguments)])
    with pytest.raises(NotFiniteError, match="classifier"):
        scores(exported / "classifier", reviews)
    with pytest.raises(NotFiniteError, match="masked: scores that are not finite"):
        load_exported(exported / "masked").results(["the [MASK]"])


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("classifier", {"device": "cuda"}, ConfigError, "device: 'cuda', but .*classifier is an exported model"),
        ("classifier", {"precision": "bf16"}, ConfigError, "precision: 'bf16', expected one of fp32, int8"),
        ("classifier", {"threshold": 1.0}, ConfigError, 'a model for classification never predicts "no answer"'),
        ("masked", {"threshold": 1.0}, ConfigError, 'a model for fill_mask never predicts "no answer"'),
        ("masked", {}, DataError, r"reviews.csv:2: .*\[MASK\]"),
        (
            "embedder",
            {},
            ConfigError,
            "model: .*embedder has no head for predictions; `litebert embed` has its embeddings",
        ),
    ],
)
def test_wrong_settings_of_a_prediction_are_refused(exported, reviews, tmp_path, name, options, error, message):
    with pytest.raises(error, match=message):
        run_predict(exported / name, reviews, tmp_path / "out.jsonl", **options)


def test_a_pretrained_export_has_no_labels_to_score(exported, reviews):
    with pytest.raises(ConfigError, match="masked: has no fine-tuned head; export a model directory from `finetune`"):
        scores(exported / "masked", reviews)


def test_the_threshold_of_no_answer_is_that_of_the_command(exported, tmp_path):
    source = tmp_path / "questions.json"
    source.write_text(json.dumps(QUESTIONS))
    for name, threshold in (("never", 1e9), ("always", -1e9)):
        result = run_predict(exported / "doubter", source, tmp_path / name, threshold=threshold)
        assert (result.threshold.value, result.threshold.source) == (threshold, "given")
        answers = json.loads((tmp_path / name / "predictions.json").read_text()).values()
        assert [bool(answer) for answer in answers] == [name == "never"] * 2
