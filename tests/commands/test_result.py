"""Results: as a file and back; a damaged file is told, not shown as a traceback."""

import json
from pathlib import Path

import pytest

from litebert.commands.pretrain.held_out_scores import HeldOutScores
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.errors import CheckpointError

SCORES = HeldOutScores(0.5, 1.25, 40, 0.1, 0.75, 16, (0.5, 0.9))


@pytest.mark.parametrize("end", [SCORES, None])
def test_what_is_written_is_read(tmp_path, end):
    result = PretrainResult(Path("run/model"), 10, 1000, 4.0, 2.0, None, end)
    result.write(tmp_path / "result.json")
    assert PretrainResult.read(tmp_path / "result.json") == result
    assert json.loads((tmp_path / "result.json").read_text()) == result.to_dict()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"steps": 1}', "\x00"])
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"result\.json: damaged: not a PretrainResult"):
        PretrainResult.read(tmp_path / "result.json")
