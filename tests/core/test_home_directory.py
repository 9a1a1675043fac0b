"""`~` at the start of a path is the home directory, on command lines, in settings and from Python."""

from pathlib import Path

import pytest

import litebert
from litebert.api.data_sources import DataSource
from litebert.cli.main import main
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.files import expand_home, path_of
from litebert.model.io.hub import local_model_directory, model_directory
from litebert.tokenization.tokenizer import Tokenizer
from support.data.texts import write_documents


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.mark.parametrize("value", ["", "~", "~x/y", "a~/b", "./~/b", 3, None, True])
def test_other_values_are_kept(home, value):
    assert expand_home(value) == value


def test_paths_inside_lists_and_groups_are_expanded(home):
    given = {"~/corpus": 0.5, "files": ["~/a", 1], "one": ("~/b",), "path": Path("~/c")}
    assert expand_home(given) == {
        f"{home}/corpus": 0.5,
        "files": [f"{home}/a", 1],
        "one": (f"{home}/b",),
        "path": home / "c",
    }
    assert path_of("~/d") == home / "d"


def test_settings_expand_paths_and_names_of_models(home):
    given = {"model": "~/m", "data": {"train": "~/x.csv", "dev": "~/y.csv"}}
    run = load_finetune_config("default", ["tokenizer=~/t"], given=given, open_files=False)
    assert (run.model, run.data.train, run.data.dev) == (f"{home}/m", home / "x.csv", home / "y.csv")
    assert run.tokenizer == home / "t"


def test_command_line_expands_words_and_values_of_options(home, capsys):
    write_documents(home / "x.txt", documents=40)
    words = ["~/x.txt", "--out=~/tokens", "--vocab-size", "60"]
    assert main(["tokenizer", "train", *words]) == 0, capsys.readouterr().err
    assert Tokenizer.load("~/tokens").vocab_size == Tokenizer.load(home / "tokens").vocab_size == 60
    assert not Path("~").exists()
    (home / "x.csv").write_text("text,label\na,x\nb,y\n")
    words = ["data.dev=~/x.csv", "--model=~/m", "--train=~/x.csv", "--out=~/run", "--print-settings"]
    assert main(["finetune", "default", *words]) == 0
    shown = capsys.readouterr().out
    assert (shown.count(f"{home}/x.csv"), shown.count(f"{home}/m")) == (2, 1)


def test_python_functions_expand_paths(home):
    (home / "x.csv").write_text("text,label\na,x\n")
    (home / "m").mkdir()
    (home / "m" / "config.json").write_text("{}")
    assert DataSource.of("~/x.csv", "train").path == home / "x.csv"
    assert model_directory("~/m") == local_model_directory(Path("~/m")) == home / "m"
    write_documents(home / "x.txt", documents=40)
    litebert.train_tokenizer("~/x.txt", "~/tokens", vocab_size=60).save("~/copy")
    assert (home / "copy").is_dir()
    with pytest.raises(litebert.DataError, match=f"{home}/none"):
        litebert.build_corpus(["~/x.txt"], "~/corpus", tokenizer="~/none")
