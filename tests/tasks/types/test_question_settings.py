"""Settings of questions, and their file in a model directory."""

import pytest

from litebert.errors import CheckpointError, ConfigError
from litebert.tasks.types.question_settings import FILE, QuestionSettings, Threshold, stored_settings


def test_what_is_stored_is_read_again(tmp_path):
    settings = QuestionSettings(max_length=48, stride=7, max_query_length=9, n_best=3, no_answer_threshold=-1.25)
    (tmp_path / FILE).write_bytes(settings.to_bytes())
    assert stored_settings(tmp_path, longest=512) == settings
    assert settings.threshold() == Threshold(-1.25, "kept")
    assert settings.threshold().to_text() == "-1.2500, kept with the model"


def test_a_directory_without_them_has_the_defaults_that_fit(tmp_path):
    assert stored_settings(tmp_path, longest=512) == QuestionSettings()
    assert stored_settings(tmp_path, longest=48).max_length == 48
    assert QuestionSettings().threshold() == Threshold(0, "default")
    assert QuestionSettings().threshold().to_text() == "0.0000, since none was chosen"


@pytest.mark.parametrize("kept", [None, -1.25])
def test_a_threshold_that_is_given_comes_before_the_kept_one(kept):
    assert QuestionSettings(no_answer_threshold=kept).threshold(0.0) == Threshold(0.0, "given")
    assert QuestionSettings(no_answer_threshold=kept).threshold(2.0).to_text() == "2.0000, as given"


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"question_answering\.json: .*take a fresh copy"):
        stored_settings(tmp_path, longest=512)


def test_an_impossible_value_is_refused_with_the_file(tmp_path):
    (tmp_path / FILE).write_text('{"stride": 0}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"question_answering\.json: stride"):
        stored_settings(tmp_path, longest=512)
