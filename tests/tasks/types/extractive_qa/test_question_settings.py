"""Settings of question answering and their file in a model directory."""

import pytest

from litebert.errors import CheckpointError, ConfigError
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold, QuestionSettings


def test_question_settings_survive_the_model_directory(tmp_path):
    settings = QuestionSettings(max_length=48, doc_stride=7, max_query_length=9, n_best=3, no_answer_threshold=-1.25)
    for name, content in settings.model_files().items():
        (tmp_path / name).write_bytes(content)
    assert QuestionSettings.stored(tmp_path, max_length=512) == settings
    assert settings.threshold() == NoAnswerThreshold(-1.25, "model")
    assert settings.threshold().to_text() == "-1.2500 (chosen in fine-tuning)"


def test_question_settings_default_to_what_the_model_reads(tmp_path):
    assert QuestionSettings.stored(tmp_path, max_length=512) == QuestionSettings()
    assert QuestionSettings.stored(tmp_path, max_length=48).max_length == 48
    assert QuestionSettings().threshold() == NoAnswerThreshold(0, "default")


@pytest.mark.parametrize("settings", [QuestionSettings, InputSettings])
def test_stored_length_is_at_most_what_the_model_reads(settings, tmp_path):
    for name, content in settings(max_length=48).model_files().items():
        (tmp_path / name).write_bytes(content)
    assert settings.stored(tmp_path, max_length=32).max_length == 32, "positions were reduced by `convert --change`"
    assert settings.stored(tmp_path, max_length=512).max_length == 48


@pytest.mark.parametrize("chosen", [None, -1.25])
def test_no_answer_threshold_that_is_given_overrides_the_chosen_one(chosen):
    assert QuestionSettings(no_answer_threshold=chosen).threshold(0.0) == NoAnswerThreshold(0.0, "given")
    assert QuestionSettings(no_answer_threshold=chosen).threshold(2.0).to_text() == "2.0000 (as given)"


def test_encoding_depends_on_lengths_but_not_on_the_threshold():
    settings = QuestionSettings(no_answer_threshold=1.0)
    assert settings.of_encoding() == QuestionSettings(no_answer_threshold=2.0).of_encoding()
    assert settings.of_encoding() != QuestionSettings(doc_stride=64).of_encoding()
    assert InputSettings(max_length=8).of_encoding() != InputSettings(max_length=16).of_encoding()


def test_no_answer_threshold_of_an_ensemble_is_the_mean():
    first, second = QuestionSettings(no_answer_threshold=1.0), QuestionSettings(no_answer_threshold=2.0)
    assert QuestionSettings.of_ensemble([first, second]).no_answer_threshold == 1.5
    assert QuestionSettings.of_ensemble([first, QuestionSettings()]).no_answer_threshold is None


def test_no_answer_threshold_is_taken_from_the_evaluation():
    assert QuestionSettings().with_metrics({"no_answer_threshold": 1.5}).no_answer_threshold == 1.5
    assert QuestionSettings().with_metrics({"answer_f1": 50.0}).no_answer_threshold is None


@pytest.mark.parametrize("content", ["{", "[]"])
def test_question_settings_file_that_is_damaged_is_an_error(tmp_path, content):
    (tmp_path / QuestionSettings.file).write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"question_answering\.json: .*take a fresh copy"):
        QuestionSettings.stored(tmp_path, max_length=512)


def test_question_settings_file_with_an_invalid_value_is_an_error(tmp_path):
    (tmp_path / QuestionSettings.file).write_text('{"doc_stride": 0}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"question_answering\.json: doc_stride"):
        QuestionSettings.stored(tmp_path, max_length=512)
