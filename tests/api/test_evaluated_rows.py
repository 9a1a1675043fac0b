"""The rows beside the predictions of an evaluation are those of the caller."""

import logging

import pytest

import litebert
from litebert.model.io.model_directory import save_model
from litebert.model.models import (
    ForMultipleChoice,
    ForQuestionAnswering,
    ForSequenceClassification,
    ForTokenClassification,
)
from support.data.question_builders import QUESTIONS, squad_json, write_squad

ROWS = {
    "classification": [{"text": f"a film {n}", "label": n % 2 == 1, "note": n} for n in range(4)],
    "multiple_choice": [{"text": f"a film {n}", "option1": "good", "option2": "bad", "label": "A"} for n in range(4)],
    "extractive_qa": [{"question": f"who {n}", "context": "Ánn felt dull", "answer": "Ánn"} for n in range(4)],
}


@pytest.fixture
def model_for(tiny_tokenizer, small_config, tmp_path):
    """The directory of a model of random weights for a task type."""
    config = small_config.replace(max_position_embeddings=64)
    models = {
        "classification": (lambda: ForSequenceClassification(config, num_labels=2), ("false", "true")),
        "multiple_choice": (lambda: ForMultipleChoice(config), None),
        "extractive_qa": (lambda: ForQuestionAnswering(config), None),
        "token_classification": (lambda: ForTokenClassification(config, num_labels=2), ("O", "B-X")),
    }

    def save(name):
        make, labels = models[name]
        options = {} if labels is None else {"labels": labels}
        return save_model(make(), tmp_path / "model", extra_files=tiny_tokenizer.files(), **options)

    return save


@pytest.mark.parametrize("task_type", ROWS)
def test_data_frame_of_an_evaluation_has_the_columns_of_the_rows(model_for, task_type):
    pytest.importorskip("pandas")
    rows = ROWS[task_type]
    frame = litebert.evaluate(model_for(task_type), rows).to_pandas()
    named = [{**row, "label": str(row["label"]).lower()} for row in rows] if task_type == "classification" else rows
    assert frame[list(rows[0])].to_dict("records") == named
    assert "prediction" in frame.columns


def test_label_of_an_evaluated_row_can_be_compared_with_its_prediction(model_for):
    pytest.importorskip("pandas")
    evaluated = litebert.evaluate(model_for("classification"), ROWS["classification"])
    frame = evaluated.to_pandas()
    assert (frame.label == frame.prediction).mean() == evaluated.metrics["accuracy"]


def test_rows_of_an_evaluation_are_those_that_were_scored(model_for):
    rows = [*ROWS["classification"], {"text": "a play", "label": None}, {"text": "", "label": ""}]
    evaluated = litebert.evaluate(model_for("classification"), rows, unlabelled_rows="skip")
    assert [row["note"] for row in evaluated.predictions.inputs] == [row["note"] for row in ROWS["classification"]]


def test_rows_of_an_evaluated_file_are_its_rows(model_for, tmp_path, caplog):
    (tmp_path / "rows.csv").write_text("n;text;label\n1;a film; true\n;;\n2;a play;false\n")
    with caplog.at_level(logging.INFO, logger="litebert"):
        evaluated = litebert.evaluate(model_for("classification"), tmp_path / "rows.csv")
    assert [row["label"] for row in evaluated.predictions.inputs] == ["true", "false"]
    assert f"{tmp_path / 'rows.csv'}: semicolons separate the columns" in caplog.messages


def test_rows_of_an_evaluated_file_without_columns_have_its_texts_and_labels(model_for, tmp_path):
    (tmp_path / "words.conll").write_text("the O\nfilm B-X\n\nmusic O\n")
    evaluated = litebert.evaluate(model_for("token_classification"), tmp_path / "words.conll")
    assert evaluated.predictions.inputs[0] == {"text": ["the", "film"], "label": ["O", "B-X"]}
    questions = write_squad(tmp_path / "questions.json", squad_json(*QUESTIONS[:2]))
    (first, _) = litebert.evaluate(model_for("extractive_qa"), questions).predictions.inputs
    assert list(first) == ["id", "question", "context", "answers"]
    assert first["answers"] == [answer.text for answer in QUESTIONS[0].answers]
