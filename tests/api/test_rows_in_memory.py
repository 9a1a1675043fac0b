"""Rows in memory: messages name them, not a file, and arguments as Python has them."""

import logging

import numpy as np
import pytest

import litebert
from litebert.errors import ConfigError, DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.tasks.readers.columns import SavedTask
from support.runs.tiny_runs import API_SETTINGS


@pytest.fixture
def classifier(tiny_tokenizer, small_config, tmp_path):
    files = {**tiny_tokenizer.files(), **SavedTask(task_type="classification", text="text", label="label").files()}
    model = ForSequenceClassification(small_config, num_labels=2)
    return save_model(model, tmp_path / "model", labels=("bad", "good"), extra_files=files)


def test_invalid_row_of_an_evaluation_is_named_by_its_number(classifier):
    with pytest.raises(DataError, match=r"^data: row 2 \(counted from 1\): field 'label': unknown label 'dull'"):
        litebert.evaluate(classifier, (["a film", "a play"], ["good", "dull"]))


def test_warnings_about_evaluated_rows_name_the_data(classifier, caplog):
    with caplog.at_level(logging.WARNING, logger="litebert"):
        litebert.evaluate(classifier, (["a film", "a film", ""], ["good", "good", "bad"]))
    messages = [record.getMessage() for record in caplog.records]
    assert any("rows repeat" in message for message in messages)
    assert all(message.startswith("data: ") for message in messages)


UNLABELLED = {"text": ["a film", "a play", "a book"], "label": ["good", None, ""]}
ADVICE = r"in 2 of 3 rows \(rows 2, 3\); fill it, remove the rows, or skip them \(unlabelled_rows=\"skip\"\)$"


def test_rows_of_a_data_frame_without_a_label_are_named_by_their_numbers(classifier, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(UNLABELLED)
    expected = r": row 2 \(counted from 1\): field 'label': the label is empty " + ADVICE
    with pytest.raises(DataError, match=f"^data{expected}"):
        litebert.evaluate(classifier, frame)
    with pytest.raises(DataError, match=f"^train{expected}"):
        litebert.finetune(classifier, train=frame, out=tmp_path / "run")


def test_rows_without_a_label_are_skipped_if_told(classifier, opinions, tmp_path):
    assert litebert.evaluate(classifier, UNLABELLED, unlabelled_rows="skip").evaluation.examples == 1
    rows, settings = [*opinions, {"text": "a", "label": None}], {**API_SETTINGS, "duration": "1 steps"}
    tuned = litebert.finetune(
        classifier, train=rows, dev=rows, out=tmp_path / "run", unlabelled_rows="skip", baseline=False, **settings
    )
    assert tuned.result.train_examples == len(opinions)


def test_rows_may_have_the_probability_of_each_label(classifier, opinions, tmp_path, caplog):
    given = [{"text": row["text"], "label": {"good": np.float32(0.75), "bad": np.float64(0.25)}} for row in opinions]
    settings = {**API_SETTINGS, "duration": "1 steps", "baseline": False}
    with caplog.at_level(logging.INFO, logger="litebert"):
        tuned = litebert.finetune(classifier, train=given, dev=opinions, out=tmp_path / "run", **settings)
    assert tuned.result.train_examples == len(opinions)
    assert f"{len(opinions)} of {len(opinions)} rows have probabilities of labels" in caplog.text


def test_messages_about_columns_advise_arguments_of_python(classifier, tmp_path):
    rows = {"body": ["a film", "a play"], "label": ["good", "bad"]}
    expected = r"no column 'text'; it has 'body', 'label'; name the column \(text=, label=, …\)"
    for name, call in {
        "data": lambda: litebert.evaluate(classifier, rows),
        "data ": lambda: litebert.predict(classifier, rows),
        "train": lambda: litebert.finetune(classifier, train=rows, out=tmp_path / "run"),
    }.items():
        with pytest.raises(DataError, match=rf"^{name.strip()}: {expected}"):
            call()


def test_messages_about_masked_texts_name_the_row(pretrained):
    with pytest.raises(DataError, match=r"^data: row 2 \(counted from 1\): field 'text': expected a text or a number"):
        litebert.predict(pretrained, [{"text": "a [MASK]"}, {"text": ["x"]}])


def test_messages_about_encodings_advise_arguments_with_their_values(tmp_path):
    (tmp_path / "a.txt").write_bytes("Das Boot ist schön.\n".encode("latin-1") * 100)
    with pytest.raises(
        DataError, match=r"such as encoding=\"cp1252\" \(Western Europe\), encoding=.*; invalid_utf8=\""
    ):
        litebert.train_tokenizer(tmp_path / "a.txt", tmp_path / "tokenizer", vocab_size=40)
    with pytest.raises(DataError, match=r"set invalid_utf8=\"replace\"$"):
        litebert.train_tokenizer(tmp_path / "a.txt", tmp_path / "tokenizer", vocab_size=40, invalid_utf8="error")


def test_messages_about_a_file_keep_its_lines(classifier, tmp_path):
    (tmp_path / "rows.csv").write_text("text,label\na film,good\na play,\n")
    with pytest.raises(DataError, match=r"rows\.csv:3: .* in 1 of 2 rows \(line 3\); .*\(unlabelled_rows=\"skip\"\)"):
        litebert.evaluate(classifier, tmp_path / "rows.csv")


def test_unknown_choice_for_rows_without_a_label_is_refused(tuned, opinions):
    with pytest.raises(ConfigError, match="unlabelled_rows: 'skipp', expected error or skip"):
        litebert.evaluate(tuned.model, opinions, unlabelled_rows="skipp")
