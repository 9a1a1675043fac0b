"""`litebert finetune`."""

import pytest
import yaml

from litebert.cli.finetune import SETTINGS, description
from litebert.cli.main import main
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS


@pytest.mark.parametrize("task", [name for name, row in BENCHMARKS.items() if "train" in row.splits])
def test_finetune_benchmark_name_is_recipe_and_task(task, tmp_path, capsys):
    words = [task, "--model", "m", "--task-dir", str(tmp_path), "--out", str(tmp_path / "run"), "--print-settings"]
    assert main(["finetune", *words]) == 0
    settings = yaml.safe_load(capsys.readouterr().out)
    assert settings["data"]["task"] == task
    assert settings["train"]["duration"] == str(
        load_finetune_config(task, given={"model": "m", "data": {"train": "x"}}).train.duration
    )


@pytest.mark.parametrize("words", [[], ["seed=3"], ["seed=3", "train.warmup=0.2"]])
def test_finetune_without_a_recipe_takes_the_default_one(words, tmp_path, capsys):
    (tmp_path / "x.csv").write_text("text,label\na,b\n")
    options = ["--model", "m", "--train", str(tmp_path / "x.csv"), "--out", str(tmp_path / "run"), "--print-settings"]
    shown = []
    for recipe in ([], ["default"]):
        assert main(["finetune", *recipe, *words, *options]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert ("seed: 3" in shown[0]) == bool(words)


@pytest.mark.parametrize("example", SETTINGS)
def test_finetune_help_settings_are_valid(example):
    load_finetune_config("default", [example.replace("'", "")], given={"model": "m", "data": {"train": "x"}})


def test_finetune_help_names_recipes_and_formats():
    text = description()
    for word in (
        "cola",
        "squad-v2.0",
        "race-v2",
        "CoNLL",
        "option1",
        "SQuAD 1.1 or 2.0 (.json)",
        "early_stopping_patience=3",
    ):
        assert word in text
