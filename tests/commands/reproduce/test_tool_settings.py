"""Settings that a tool gives to commands are those that the commands have."""

from pathlib import Path

import pytest
import yaml

from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.reproduce.reproduce import plan_tables
from litebert.commands.reproduce.reproduce_settings import ReproduceRun

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(autouse=True)
def tools_path(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)


def test_try_extras_pretrains_with_settings_that_exist(corpus_directory):
    from try_extras import SMALL

    assert load_pretrain_config("tiny", SMALL, corpus=corpus_directory).train.duration.amount == 2


def test_kill_reproduce_runs_cells_with_settings_that_exist(corpus_directory, tmp_path):
    from kill_reproduce import SCALE, TABLE

    for name, content in {"table": TABLE, "scale": SCALE}.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    table, scale = (str(tmp_path / f"{name}.yaml") for name in ("table", "scale"))
    planned = plan_tables(ReproduceRun(tables=(table,), scale=scale, corpus=corpus_directory), tmp_path / "out")
    assert planned.cells["pretrain"] == 4  # two models with two seeds
