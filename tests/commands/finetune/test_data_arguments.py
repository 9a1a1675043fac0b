"""Arguments of labelled data, and the settings they become."""

import pytest
import yaml

from litebert.cli.main import main
from litebert.commands.data_arguments import DataArguments, SlicedColumnArguments, files_by_split, predicted_split
from litebert.commands.finetune.data_settings import LabelledFiles
from litebert.errors import ConfigError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.readers.columns import Columns

GIVEN = {"text": "review", "text_pair": "title", "label": "stars", "options": ("a", "b"), "slice": "shop"}


def test_data_arguments_name_the_task_of_another_recipe():
    setting = DataArguments(task="race-high", task_dir="data").to_setting("race-v2")
    assert setting == {"task": "race-high", "directory": "data"}
    own = DataArguments(train="own.json").to_setting("squad-v1.1")
    assert LabelledFiles.parse(own, where="data") == LabelledFiles(train="own.json")


@pytest.mark.parametrize(
    ("recipe", "given"), [("default", {"task_dir": "d"}), ("cola", {}), ("cola", {"task": "cola"})]
)
def test_data_arguments_need_a_file_or_a_benchmark(recipe, given):
    with pytest.raises(ConfigError, match="give either --train"):
        DataArguments(**given).to_setting(recipe)


def test_data_arguments_suggest_the_benchmark_for_a_misspelt_one():
    with pytest.raises(ConfigError, match=r"^task: missing, and 'mrcp' is not the recipe .* did you mean 'mrpc'\?"):
        DataArguments(task_dir="d").to_setting("mrcp")
    with pytest.raises(ConfigError, match=r"'mrpc-small' is not the recipe of one benchmark; add --task mrpc$"):
        DataArguments(task_dir="d").to_setting("mrpc-small")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task_dir": "d", "columns": SlicedColumnArguments(text="a")}, "^text: a benchmark defines its own"),
        ({"task_dir": "d", "task_type": "regression"}, "^task_type: a benchmark defines its own"),
        ({"task_dir": "d", "dev": "x.tsv"}, "^dev: a benchmark has its own; replace it by --split-file dev=FILE"),
        ({"train": "t.csv", "split_file": ("dev=x.tsv",)}, "^split_file: only with a benchmark"),
    ],
)
def test_data_arguments_reject_what_does_not_apply(given, message):
    with pytest.raises(ConfigError, match=message):
        DataArguments(**given).to_setting("cola")


def test_data_arguments_pass_on_every_value():
    assert SlicedColumnArguments(**GIVEN).to_columns() == Columns(**GIVEN)
    data = DataArguments(train="t.csv", dev="d.csv", task_type="regression", columns=SlicedColumnArguments(**GIVEN))
    expected = LabelledFiles(train="t.csv", dev="d.csv", task_type="regression", **GIVEN)
    assert LabelledFiles.parse(data.to_setting("default"), where="data") == expected


@pytest.mark.parametrize("values", [["dev"], ["dev="], ["=x"], ["dev=a", "dev=b"]])
def test_files_by_split_rejects_anything_but_one_file_a_split(values):
    with pytest.raises(ConfigError, match="split_file: expected SPLIT=FILE"):
        files_by_split(values)


def test_predicted_split_is_the_named_one_or_the_default():
    def split(*arguments):
        return predicted_split(*arguments, default="dev", instead="--data")

    assert split(None, None, None) is None
    assert split("cola", None, None) == BenchmarkSplit(task="cola", split="dev")
    assert split("cola", None, "test=x.tsv") == BenchmarkSplit(task="cola", split="test", file="x.tsv")
    with pytest.raises(ConfigError, match=r"^split: only with a benchmark"):
        split(None, "test", None)
    with pytest.raises(ConfigError, match="split: 'dev', but --split-file gives a file for 'test'"):
        split("cola", "dev", "test=x.tsv")


def test_finetune_command_line_has_no_prefixes(tmp_path, capsys):
    words = ["--model", "m", "--train", "t.csv", "--dev", "d.csv", "--out", str(tmp_path), "--print-settings"]
    columns = ["--text", "review", "--text-pair", "title", "--options", "a", "b", "--slice", "shop"]
    assert main(["finetune", "default", *words, *columns, "--label", "stars"]) == 0
    data = yaml.safe_load(capsys.readouterr().out)["data"]
    assert {name: data[name] for name in GIVEN} == GIVEN | {"options": ["a", "b"]}
    assert (data["train"], data["dev"]) == ("t.csv", "d.csv")


@pytest.mark.parametrize("command", ["finetune", "sweep", "evaluate", "ensemble"])
def test_help_explains_the_columns(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    for words in ("Column of the second text of a pair", "Columns of the options", "--slice", "scored separately"):
        assert words in shown
