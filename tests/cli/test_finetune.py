"""`litebert finetune`: the recipe of a task needs its directory alone; `--help` names every kind and setting."""

import pytest
import yaml

from litebert.cli.finetune import SETTINGS, description
from litebert.cli.main import main
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.tasks.benchmarks.benchmarks import TASKS


@pytest.mark.parametrize("task", [name for name, row in TASKS.items() if "train" in row.parts])
def test_the_name_of_a_task_is_recipe_and_task_in_one(task, tmp_path, capsys):
    words = [task, "--model", "m", "--data", str(tmp_path), "--out", str(tmp_path / "run"), "--print-settings"]
    assert main(["finetune", *words]) == 0
    settings = yaml.safe_load(capsys.readouterr().out)
    assert settings["data"]["task"] == task
    assert settings["train"]["duration"] == str(
        load_finetune_config(task, given={"model": "m", "data": {"train": "x"}}).train.duration
    )


@pytest.mark.parametrize("example", SETTINGS)
def test_every_setting_in_the_help_is_one(example):
    load_finetune_config("classification", [example.replace("'", "")], given={"model": "m", "data": {"train": "x"}})


def test_help_names_every_recipe_and_kind():
    text = description()
    for word in ("cola", "squad-v2.0", "race-v2", "CoNLL", "option1", "SQuAD 1.1 or 2.0 (.json)", "patience=3"):
        assert word in text
