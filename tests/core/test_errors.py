import pytest

from litebert.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    LitebertError,
    MissingExtraError,
    StoppedBySignalError,
)


@pytest.mark.parametrize(
    ("error", "code"), [(LitebertError, 1), (ConfigError, 2), (DataError, 3), (CheckpointError, 4)]
)
def test_exit_codes(error, code):
    assert error("x").exit_code == code


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_a_signal_decides_the_exit_code(number, code):
    assert StoppedBySignalError("x", signal_number=number).exit_code == code


def test_a_missing_extra_says_how_to_install_it():
    assert "pip install 'litebert[plot]'" in str(MissingExtraError("matplotlib", extra="plot", needed_for="the curve"))
