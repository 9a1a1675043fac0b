"""Arguments of labelled rows: what each verb is told becomes what the readers take."""

import inspect
from pathlib import Path

import pytest
import yaml
from litebert.cli.arguments.labelled_data import COLUMNS, ColumnArguments, TrainingRows

from litebert.cli.ensemble import ensemble
from litebert.cli.evaluate import evaluate
from litebert.cli.finetune import finetune
from litebert.cli.main import main
from litebert.cli.sweep import sweep
from litebert.commands.finetune.finetune_settings import LabelledFiles
from litebert.errors import ConfigError
from litebert.tasks.readers.columns import Columns

GIVEN = {"text": "review", "text_pair": "title", "label": "stars", "options": ("a", "b"), "slice": "shop"}


def test_another_recipe_takes_the_task_by_name(tmp_path):
    assert TrainingRows(task="race-high", data=tmp_path).setting("race-v2", COLUMNS) == {
        "task": "race-high",
        "directory": str(tmp_path),
    }
    own = TrainingRows(train=tmp_path / "own.json").setting("squad-v1.1", COLUMNS)
    assert LabelledFiles.parse(own, where="data") == LabelledFiles(train=tmp_path / "own.json")


@pytest.mark.parametrize(
    ("recipe", "given"), [("classification", {"data": Path("d")}), ("cola", {}), ("cola", {"task": "cola"})]
)
def test_rows_must_be_somewhere(recipe, given):
    with pytest.raises(ConfigError, match="the recipe of its name stands for --task"):
        TrainingRows(**given).setting(recipe, COLUMNS)


def test_every_argument_arrives():
    assert ColumnArguments(**GIVEN).to_columns() == Columns(**GIVEN)
    rows = TrainingRows(train=Path("t.csv"), dev=Path("d.csv"), task_type="regression")
    expected = LabelledFiles(train=Path("t.csv"), dev=Path("d.csv"), task_type="regression", **GIVEN)
    assert LabelledFiles.parse(rows.setting("classification", ColumnArguments(**GIVEN)), where="data") == expected


@pytest.mark.parametrize("verb", [finetune, sweep, evaluate, ensemble])
def test_the_verbs_share_them(verb):
    assert inspect.signature(verb).parameters["columns"].annotation is ColumnArguments


def test_the_command_line_has_no_prefixes(tmp_path, capsys):
    words = ["--model", "m", "--train", "t.csv", "--dev", "d.csv", "--out", str(tmp_path), "--print-settings"]
    columns = ["--text", "review", "--text-pair", "title", "--options", "a", "b", "--slice", "shop"]
    assert main(["finetune", "classification", *words, *columns, "--label", "stars"]) == 0
    data = yaml.safe_load(capsys.readouterr().out)["data"]
    assert {name: data[name] for name in GIVEN} == GIVEN | {"options": ["a", "b"]}
    assert (data["train"], data["dev"]) == ("t.csv", "d.csv")


@pytest.mark.parametrize("verb", ["finetune", "sweep", "evaluate", "ensemble"])
def test_the_help_explains_each(capsys, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    shown = capsys.readouterr().out
    for words in ("column of the second text of a pair", "columns of the options", "--slice NAME", "scored apart"):
        assert words in shown
