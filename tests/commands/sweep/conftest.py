"""Sweeps over runs of a few steps."""

import pytest

from litebert.commands.sweep.sweep_settings import SweepRun
from support.tiny_runs import opinions_run, save_pretrained


@pytest.fixture(scope="session")
def pretrained(tiny_tokenizer, tmp_path_factory):
    return save_pretrained(tiny_tokenizer, tmp_path_factory.mktemp("pretrained") / "model")


@pytest.fixture
def planned(pretrained, tmp_path):
    """A sweep over a grid, of runs of a few steps."""

    def planned(grid, *, restarts=0, **train):
        base = opinions_run(pretrained, tmp_path / "train.csv", **train)
        return SweepRun.parse({"base": base, "grid": grid, "restarts": restarts}, where="test")

    return planned
