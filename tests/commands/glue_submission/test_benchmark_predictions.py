"""Predictions for benchmark splits."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from litebert.commands.benchmark_predictions import submission_text
from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError, DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import (
    ForMultipleChoice,
    ForPretraining,
    ForQuestionAnsweringWithNoAnswer,
    ForSequenceClassification,
)
from litebert.tasks.labelled_data import Example, LabelledData
from litebert.tasks.results import Regression
from support.data.benchmark_files import SENTENCES, write_cola, write_race
from support.data.question_builders import QUESTIONS, squad_json, write_squad


def predict_split(model, task, split, directory, output, **options):
    return predict(PredictRun(model=str(model), task=task, split=split, input=directory, output=output, **options))


@pytest.fixture(scope="module")
def models(tiny_tokenizer, small_config, tmp_path_factory):
    root = tmp_path_factory.mktemp("models")

    def save(name, model, **options):
        return save_model(model, root / name, extra_files=tiny_tokenizer.files(), **options)

    three = ("contradiction", "entailment", "neutral")
    regressor = ForSequenceClassification(small_config, num_labels=1)
    return {
        "cola": save("cola", ForSequenceClassification(small_config, num_labels=2), labels=("0", "1")),
        "mnli": save("mnli", ForSequenceClassification(small_config, num_labels=3), labels=three),
        "sts-b": save("sts-b", regressor, labels=("score",), problem_type="regression"),
        "race": save("race", ForMultipleChoice(small_config)),
    }


def test_predict_writes_glue_submission_files(models, tmp_path):
    result = predict_split(models["cola"], "cola", "test", write_cola(tmp_path), tmp_path / "CoLA.tsv")
    header, *rows = (tmp_path / "CoLA.tsv").read_text().splitlines()
    assert header == "index\tprediction"
    assert [row.split("\t")[0] for row in rows] == [str(number) for number in range(len(SENTENCES))]
    assert {row.split("\t")[1] for row in rows} <= {"0", "1"}
    assert (result.predictions, result.accuracy) == (len(SENTENCES), None)


def test_predict_writes_sts_b_scores_with_three_decimals(models, tmp_path):
    (tmp_path / "STS-B").mkdir()
    (tmp_path / "STS-B" / "test.tsv").write_text("index\tsentence1\tsentence2\n0\tthe film\tthe music\n")
    predict_split(models["sts-b"], "sts-b", "test", tmp_path, tmp_path / "x.tsv")
    _, row = (tmp_path / "x.tsv").read_text().splitlines()
    assert row == f"0\t{float(row.split()[1]):.3f}"


def test_predict_writes_race_letters_and_reports_the_accuracy(models, tmp_path):
    result = predict_split(models["race"], "race", "test", write_race(tmp_path), tmp_path / "race.json")
    answers = json.loads((tmp_path / "race.json").read_text())
    assert sorted(answers) == ["high1.txt-0", "high1.txt-1", "middle1.txt-0", "middle1.txt-1"]
    assert result.accuracy == sum(letter == "A" for letter in answers.values()) / 4
    assert f"accuracy {result.accuracy:.4f}" in result.to_text()


def test_predict_of_a_squad_split_equals_that_of_its_file(tiny_tokenizer, small_config, tmp_path):
    model = ForQuestionAnsweringWithNoAnswer(small_config)
    place = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files())
    (tmp_path / "SQuAD").mkdir()
    file = write_squad(tmp_path / "SQuAD" / "dev-v2.0.json", squad_json(*QUESTIONS))
    predict(PredictRun(model=str(place), input=file, output=tmp_path / "theirs"))
    result = predict_split(place, "squad-v2.0", "dev", tmp_path, tmp_path / "ours")
    assert result.predictions == len(QUESTIONS)
    names = sorted(path.name for path in (tmp_path / "ours").iterdir())
    assert names == ["nbest_predictions.json", "null_odds.json", "predictions.json"]
    for name in names:
        assert (tmp_path / "ours" / name).read_text() == (tmp_path / "theirs" / name).read_text()
    none = predict_split(place, "squad-v2.0", "dev", tmp_path, tmp_path / "none", threshold=-1e9)
    assert none.counts["unanswered"] == len(QUESTIONS)
    with pytest.raises(ConfigError, match="has no 'test'; it has train, dev"):
        predict_split(place, "squad-v2.0", "test", tmp_path, tmp_path / "other")


def test_predict_rejects_a_threshold_for_a_classifier(models, tmp_path):
    with pytest.raises(ConfigError, match='threshold: a model for classification never predicts "no answer"'):
        predict_split(models["cola"], "cola", "test", write_cola(tmp_path), tmp_path / "x.tsv", threshold=0.0)


def test_predict_of_a_dev_split_reports_the_accuracy(models, tmp_path):
    result = predict_split(models["cola"], "cola", "dev", write_cola(tmp_path), tmp_path / "x.tsv")
    answers = [row.split("\t")[1] for row in (tmp_path / "x.tsv").read_text().splitlines()[1:]]
    right = sum(answer == str(label) for answer, (_, label) in zip(answers, SENTENCES, strict=True))
    assert result.accuracy == right / len(SENTENCES)


def test_predict_reads_a_split_file_instead_of_the_official_one(models, tmp_path):
    own = tmp_path / "few.tsv"
    own.write_text("index\tsentence\n7\tthe film was good\n")
    found = predict_split(models["cola"], "cola", None, tmp_path / "no", tmp_path / "x.tsv", split_file=f"test={own}")
    assert found.predictions == 1
    assert (tmp_path / "x.tsv").read_text().splitlines()[1].startswith("7\t")


@pytest.mark.parametrize(
    ("task", "model", "output", "error", "message"),
    [
        ("cola", "cola", "x.json", ConfigError, r"'x\.json', but predictions for cola are a \.tsv file"),
        ("race", "race", "x.tsv", ConfigError, r"predictions for race are a \.json file"),
        (
            "cola",
            "mnli",
            "x.tsv",
            ConfigError,
            "with labels contradiction, entailment, neutral, that of CoLA is classification with labels 0, 1",
        ),
        ("rte", "cola", "x.tsv", DataError, r"found neither RTE/test\.tsv nor"),
    ],
)
def test_predict_rejects_models_and_outputs_that_do_not_fit_the_benchmark(
    models, tmp_path, task, model, output, error, message
):
    data = write_race(write_cola(tmp_path / "data"))
    with pytest.raises(error, match=message):
        predict_split(models[model], task, "test", data, tmp_path / output)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_predict_for_a_benchmark_needs_a_model_with_a_head(tmp_path, tiny_tokenizer, small_config):
    model = save_model(ForPretraining(small_config), tmp_path / "model", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match="has no head for the task cola; fine-tune the model on it first"):
        predict_split(model, "cola", "test", write_cola(tmp_path), tmp_path / "CoLA.tsv")


def test_scores_for_the_leaderboard_are_clipped_to_the_range_that_it_accepts(caplog):
    caplog.set_level("INFO", "litebert")
    scores = [Regression(score) for score in (5.2131, -0.0412, -0.0001, 2.5)]
    texts = [Example(text="a", id=str(number)) for number in range(4)]
    test = LabelledData(Path("test.tsv"), "regression", tuple(texts), None, "")
    rows = submission_text("sts-b", test, scores).splitlines()[1:]
    assert rows == ["0\t5.000", "1\t0.000", "2\t0.000", "3\t2.500"]
    assert "sts-b: clipped 3 of 4 scores to 0 to 5" in caplog.text
    dev = replace(test, examples=tuple(replace(each, target=2.5) for each in texts))
    assert submission_text("sts-b", dev, scores).splitlines()[1] == "0\t5.213", "as the model is evaluated"
