"""Answers to published tests: official names, header and label names, without any training data."""

import json

import pytest

from litebert.commands.predict.predict_benchmark import predict_official
from litebert.commands.predict.predict_questions import predict_squad
from litebert.errors import ConfigError, DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMultipleChoice, ForQuestionAnsweringWithNoAnswer, ForSequenceClassification
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from support.benchmark_files import SENTENCES, write_cola, write_race
from support.question_builders import QUESTIONS, squad_json, write_squad


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


def test_a_test_file_of_glue_is_answered_row_by_row(models, tmp_path):
    result = predict_official(
        models["cola"], BenchmarkSplit(task="cola", split="test"), write_cola(tmp_path), tmp_path / "CoLA.tsv"
    )
    header, *rows = (tmp_path / "CoLA.tsv").read_text().splitlines()
    assert header == "index\tprediction"
    assert [row.split("\t")[0] for row in rows] == [str(number) for number in range(len(SENTENCES))]
    assert {row.split("\t")[1] for row in rows} <= {"0", "1"}
    assert (result.rows, result.accuracy) == (len(SENTENCES), None)


def test_scores_have_three_decimals(models, tmp_path):
    (tmp_path / "STS-B").mkdir()
    (tmp_path / "STS-B" / "test.tsv").write_text("index\tsentence1\tsentence2\n0\tthe film\tthe music\n")
    predict_official(models["sts-b"], BenchmarkSplit(task="sts-b", split="test"), tmp_path, tmp_path / "x.tsv")
    _, row = (tmp_path / "x.tsv").read_text().splitlines()
    assert row == f"0\t{float(row.split()[1]):.3f}"


def test_answers_to_race_are_letters_by_question_and_its_test_has_labels(models, tmp_path):
    part = BenchmarkSplit(task="race", split="test")
    result = predict_official(models["race"], part, write_race(tmp_path), tmp_path / "race.json")
    answers = json.loads((tmp_path / "race.json").read_text())
    assert sorted(answers) == ["high1.txt-0", "high1.txt-1", "middle1.txt-0", "middle1.txt-1"]
    assert result.accuracy == sum(letter == "A" for letter in answers.values()) / 4
    assert f"{result.accuracy:.4f} of them right" in result.to_text()


def test_questions_of_squad_are_answered_as_their_file_is(tiny_tokenizer, small_config, tmp_path):
    model = ForQuestionAnsweringWithNoAnswer(small_config)
    place = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files())
    (tmp_path / "SQuAD").mkdir()
    file = write_squad(tmp_path / "SQuAD" / "dev-v2.0.json", squad_json(*QUESTIONS))
    predict_squad(place, file, tmp_path / "theirs")
    result = predict_official(place, BenchmarkSplit(task="squad-v2.0", split="dev"), tmp_path, tmp_path / "ours")
    assert result.questions == len(QUESTIONS)
    names = sorted(path.name for path in (tmp_path / "ours").iterdir())
    assert names == ["nbest_predictions.json", "null_odds.json", "predictions.json"]
    for name in names:
        assert (tmp_path / "ours" / name).read_text() == (tmp_path / "theirs" / name).read_text()
    part = BenchmarkSplit(task="squad-v2.0", split="dev")
    assert predict_official(place, part, tmp_path, tmp_path / "none", threshold=-1e9).unanswered == len(QUESTIONS)
    with pytest.raises(ConfigError, match="has no 'test'; it has train, dev"):
        predict_official(place, BenchmarkSplit(task="squad-v2.0", split="test"), tmp_path, tmp_path / "other")


def test_a_threshold_is_refused_where_there_are_no_questions(models, tmp_path):
    with pytest.raises(ConfigError, match="threshold: a ForSequenceClassification never says"):
        predict_official(
            models["cola"], BenchmarkSplit(task="cola", split="test"), write_cola(tmp_path), tmp_path / "x.tsv", threshold=0.0
        )


def test_a_development_part_tells_how_many_are_right(models, tmp_path):
    result = predict_official(models["cola"], BenchmarkSplit(task="cola", split="dev"), write_cola(tmp_path), tmp_path / "x.tsv")
    answers = [row.split("\t")[1] for row in (tmp_path / "x.tsv").read_text().splitlines()[1:]]
    right = sum(answer == str(label) for answer, (_, label) in zip(answers, SENTENCES, strict=True))
    assert result.accuracy == right / len(SENTENCES)


def test_a_file_of_ones_own_is_answered_in_place_of_the_published_one(models, tmp_path):
    own = tmp_path / "few.tsv"
    own.write_text("index\tsentence\n7\tthe film was good\n")
    part = BenchmarkSplit(task="cola", split="test", file=str(own))
    assert predict_official(models["cola"], part, tmp_path / "nowhere", tmp_path / "x.tsv").rows == 1
    assert (tmp_path / "x.tsv").read_text().splitlines()[1].startswith("7\t")


@pytest.mark.parametrize(
    ("task", "model", "output", "error", "message"),
    [
        ("cola", "cola", "x.json", ConfigError, r"'x\.json', but answers to cola are a \.tsv file"),
        ("race", "race", "x.tsv", ConfigError, r"answers to race are a \.json file"),
        (
            "cola",
            "mnli",
            "x.tsv",
            ConfigError,
            "this model answers contradiction, entailment, neutral, the task is 0, 1",
        ),
        ("rte", "cola", "x.tsv", DataError, r"no RTE/test\.tsv there"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_written(models, tmp_path, task, model, output, error, message):
    data = write_race(write_cola(tmp_path / "data"))
    with pytest.raises(error, match=message):
        predict_official(models[model], BenchmarkSplit(task, "test"), data, tmp_path / output)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
