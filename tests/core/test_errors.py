import pytest

from litebert.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    LitebertError,
    MissingExtraError,
    StoppedBySignalError,
    suggestion,
)


@pytest.mark.parametrize(
    ("error", "code"), [(LitebertError, 1), (ConfigError, 2), (DataError, 3), (CheckpointError, 4)]
)
def test_errors_have_exit_codes(error, code):
    assert error("x").exit_code == code


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_stopped_by_signal_error_has_the_exit_code_of_the_signal(number, code):
    assert StoppedBySignalError("x", signal_number=number).exit_code == code


def test_missing_extra_error_names_the_pip_command():
    assert "pip install 'litebert[plot]'" in str(MissingExtraError("matplotlib", extra="plot", needed_for="the curve"))


@pytest.mark.parametrize(
    ("name", "text"),
    [("tinny", "did you mean 'tiny'?"), ("gb", "did you mean 'gpu_base'?"), ("huge", "expected one of gpu_base, tiny")],
)
def test_suggestion_names_the_nearest_or_all(name, text):
    assert suggestion(name, ["gpu_base", "tiny"]) == text
