"""Help texts keep their line breaks; only results are printed on stdout."""

import json
import shutil

import pytest

from litebert.cli.arguments.common import emit
from litebert.cli.main import COMMANDS, main
from litebert.commands.recipes import recipe_names


def help_of(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["pretrain", "finetune"])
def test_help_lists_every_recipe_on_a_line_of_its_own(capsys, monkeypatch, command):
    lines = help_of(command, capsys, monkeypatch).splitlines()
    first_words = [line.split()[0] for line in lines if line.startswith("  ") and line[2:3].isalnum()]
    assert [word for word in first_words if word in recipe_names(command)] == list(recipe_names(command))
    assert all(len(line) <= 100 for line in lines if line.startswith("  "))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_no_empty_default_and_no_python(capsys, monkeypatch, command):
    shown = help_of(command, capsys, monkeypatch)
    assert "(default: )" not in shown
    assert "None" not in shown
    assert "(default: False)" not in shown


def test_commands_print_results_on_stdout_and_messages_on_stderr(made, tmp_path, capsys):
    words = ["tokenizer", "train", str(made / "text.txt"), "--vocab-size", "55", "--out", str(tmp_path / "t"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["vocab_size"] == 55
    corpus = ["corpus", "build", str(made / "text.txt"), "--tokenizer", str(tmp_path / "t")]
    corpus += ["--validation-fraction", "0.2"]
    assert main([*corpus, "--out", str(tmp_path / "c"), "--json"]) == 0
    answer = capsys.readouterr()
    assert json.loads(answer.out)["splits"]["train"]["documents"] > 0
    words = ["pretrain", "quickstart", "--corpus", str(made / "corpus"), "--out", str(tmp_path / "r"), "--json"]
    tiny = ["model.num_hidden_layers=1", "model.hidden_size=16", "train.duration=1 steps", "max_eval_examples=0"]
    assert main([*words, *tiny]) == 0
    answer = capsys.readouterr()
    assert json.loads(answer.out)["steps"] == 1
    assert "training from step 0" in answer.err


def test_emit_prints_non_ascii_text_unescaped(capsys):
    emit({"word": "größer"}, "größer", as_json=True)
    emit({"word": "größer"}, "größer", as_json=False)
    assert capsys.readouterr().out == '{"word": "größer"}\ngrößer\n'


def test_predict_works_with_relative_paths(made, tmp_path, monkeypatch, capsys):
    (tmp_path / "in.csv").write_text("text\nthe film was good\n")
    shutil.copytree(made / "tuned" / "model", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    assert main(["predict", "model", "in.csv", "out.csv"]) == 0
    assert capsys.readouterr().out == "out.csv: 1 predictions written (classification)\n"
    assert (tmp_path / "out.csv").exists()
