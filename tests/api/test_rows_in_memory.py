"""Rows in memory that are evaluated: messages name them, not a file that is gone."""

import logging

import pytest

import litebert
from litebert.errors import DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.tasks.readers.columns import SavedTask


@pytest.fixture
def classifier(tiny_tokenizer, small_config, tmp_path):
    files = {**tiny_tokenizer.files(), **SavedTask(task_type="classification", text="text", label="label").files()}
    model = ForSequenceClassification(small_config, num_labels=2)
    return save_model(model, tmp_path / "model", labels=("bad", "good"), extra_files=files)


def test_invalid_row_of_an_evaluation_is_named_by_its_number(classifier):
    with pytest.raises(DataError, match=r"^data:2: field 'label': unknown label 'dull'"):
        litebert.evaluate(classifier, (["a film", "a play"], ["good", "dull"]))


def test_warnings_about_evaluated_rows_name_the_data(classifier, caplog):
    with caplog.at_level(logging.WARNING, logger="litebert"):
        litebert.evaluate(classifier, (["a film", "a film", ""], ["good", "good", "bad"]))
    messages = [record.getMessage() for record in caplog.records]
    assert any("rows repeat" in message for message in messages)
    assert all(message.startswith("data: ") for message in messages)
