"""Sweeps over trials of a few steps."""

import pytest

from litebert.commands.sweep.sweep_settings import SweepRun
from support.runs.tiny_runs import opinions_run, save_pretrained


@pytest.fixture(scope="session")
def pretrained(tiny_tokenizer, tmp_path_factory):
    return save_pretrained(tiny_tokenizer, tmp_path_factory.mktemp("pretrained") / "model")


@pytest.fixture
def planned(pretrained, tmp_path):
    """The settings of a sweep over a grid, with trials of a few steps."""

    def planned(grid, *, retry_collapsed=0, **train):
        base = opinions_run(pretrained, tmp_path / "train.csv", **{"duration": "6 steps", **train})
        return SweepRun.parse({"base": base, "grid": grid, "retry_collapsed": retry_collapsed}, where="test")

    return planned
