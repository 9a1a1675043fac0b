import pickle

import pytest

from litebert.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    LitebertError,
    MissingExtraError,
    StoppedBySignalError,
    similar_names,
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
    ("name", "similar"),
    [
        ("lr", ["learning_rate"]),
        ("hidden", ["hidden_size", "hidden_act"]),
        ("layers", ["num_hidden_layers"]),
        ("hiden_act", ["hidden_act"]),
        ("", []),
        ("zzz", []),
    ],
)
def test_similar_names_by_initials_beginning_word_or_spelling(name, similar):
    assert (
        similar_names(name, ["hidden_size", "lr_scale", "learning_rate", "hidden_act", "num_hidden_layers"]) == similar
    )


def test_suggestion_lists_all_names_if_none_is_similar():
    assert suggestion("tinny", ["tiny", "small"]) == "did you mean 'tiny'?"
    assert suggestion("albert", ["albert-v1", "albert-v2", "x"]) == "did you mean 'albert-v1' or 'albert-v2'?"
    assert suggestion("zzz", ["tiny", "small"]) == "expected one of tiny, small"


@pytest.mark.parametrize(
    "error",
    [
        DataError("rows.csv:3: no label"),
        StoppedBySignalError("stopped", signal_number=15),
        MissingExtraError("wandb", extra="wandb", needed_for="the tracker"),
    ],
)
def test_errors_reach_other_processes_unchanged(error):
    error.on_every_rank = True
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
    assert copy.exit_code == error.exit_code
