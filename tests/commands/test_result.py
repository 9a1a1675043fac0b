"""Results: written to a file and read back; a damaged file is an error that names it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.validation import Accuracy, ValidationScores
from litebert.errors import CheckpointError

SCORES = ValidationScores(
    mlm_accuracy=0.5,
    mlm_loss=1.25,
    mlm_count=40,
    majority_token_accuracy=0.1,
    sentence_pairs={"sop": Accuracy(0.75, 16, (0.5, 0.9))},
)


@pytest.mark.parametrize("end", [SCORES, None])
def test_result_round_trip(tmp_path, end):
    result = PretrainResult(Path("run/model"), 10, 1000, 4.0, 2.0, None, end)
    result.write(tmp_path / "result.json")
    assert PretrainResult.read(tmp_path / "result.json") == result
    assert json.loads((tmp_path / "result.json").read_text()) == result.to_dict()


@pytest.mark.parametrize(("accuracy", "is_noted"), [(0.1, True), (0.19, True), (0.2, False)])
def test_pretraining_that_learned_frequencies_only_is_noted(accuracy, is_noted):
    """The standard error of 0.1 on 40 tokens is 0.047."""
    text = PretrainResult(Path("model"), 10, 1000, 4.0, 2.0, None, replace(SCORES, mlm_accuracy=accuracy)).to_text()
    note = "note: masked tokens are predicted no better than by their frequencies after 1,000 tokens; train longer"
    assert (note in text) == is_noted
    assert ("this machine reads 1.8 million tokens an hour" in text) == is_noted


@pytest.mark.parametrize("content", ["", "{", "[]", '{"steps": 1}', "\x00"])
def test_damaged_result_is_named(tmp_path, content):
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"result\.json: not a PretrainResult"):
        PretrainResult.read(tmp_path / "result.json")


def test_tokens_per_second_of_pretraining_counts_the_time_of_the_steps_only():
    result = PretrainResult(Path("run/model"), 10, 1000, 4.0, 2.0, None, None)
    assert result.tokens_per_second == 500
    assert "1,000 tokens in 0.1 minutes (500 tokens/s)" in result.to_text()
    assert replace(result, step_seconds=0.0).tokens_per_second == 0
