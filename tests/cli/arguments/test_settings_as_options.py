"""A setting that is given like an option is answered with what to write instead."""

import pytest

from litebert.cli.main import main

FINETUNE = ["--model", "tiny", "--train", "rows.csv", "--out", "run"]


@pytest.mark.parametrize("command", ["finetune", "sweep"])
@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("--epochs 3", "train.duration='3 epochs'"),
        ("--num_train_epochs=3", "train.duration='3 epochs'"),
        ("--epochs", "train.duration='… epochs'"),
        ("--lr 1e-4", "train.learning_rate=1e-4"),
        ("--learning-rate 1e-4", "train.learning_rate=1e-4"),
        ("--train.learning_rate 1e-4", "train.learning_rate=1e-4"),
        ("--warmup-steps 10", "train.warmup='10 steps'"),
        ("--batch-size 16", "batch_size=16"),
        ("--max-seq-length 64", "max_length=64"),
        ("--seed 1", "seed=1"),
        ("--metrics accuracy", "metrics=[accuracy]"),
        ("--metrics accuracy f1 batch_size=8", "metrics=[accuracy,f1]"),
        ("--metrics", "metrics=[…]"),
        ("--keep-head", "keep_head=true"),
        ("--freeze", "freeze=…"),
    ],
)
def test_setting_given_as_an_option_is_answered_with_what_to_write(command, words, instead, capsys):
    assert main([command, *FINETUNE, *words.split()]) == 2
    option = words.partition(" ")[0].partition("=")[0]
    expected = f"litebert: {option}: this is a setting, not an option; write {instead} instead"
    assert capsys.readouterr().err.strip() == expected


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("pretrain tiny --corpus c --out o --max_steps 9", "write train.duration='9 steps' instead"),
        ("pretrain tiny --corpus c --out o --max-length 64", "write sampling.max_length=64 instead"),
        ("sweep pretrain tiny seed=0,1 --corpus c --out o --batch-size 8", "write batch_size=8 instead"),
        ("info tiny --num-hidden-layers 3", "write num_hidden_layers=3 instead"),
        (
            "finetune-tasks rte --model m --task-dir t --out o --epochs 3 --batch-size 8",
            "--epochs, --batch-size: these are settings, not options; "
            "write --settings train.duration='3 epochs' batch_size=8 instead",
        ),
    ],
)
def test_every_command_with_settings_answers_so(line, answer, capsys):
    assert main(line.split()) == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["finetune", *FINETUNE, "--absent", "3"],
        ["finetune", *FINETUNE, "--data", "rows.csv"],
        ["finetune-tasks", "rte", "--model", "m", "--task-dir", "t", "--out", "o", "--seed", "1"],
        ["sweep", "pretrain", "tiny", "init=random", "--corpus", "c", "--out", "o", "--seed", "1"],
    ],
    ids=lambda words: f"{words[0]} {words[-2]}",
)
def test_options_that_are_no_settings_and_those_that_others_decide_are_left_to_the_parser(words, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert f"Unrecognized options: {words[-2]}" in capsys.readouterr().err


def test_word_after_a_flag_is_not_its_value(capsys):
    assert main(["finetune", "--keep-head", "default", *FINETUNE]) == 2
    assert "write keep_head=true instead" in capsys.readouterr().err


def test_help_is_shown_beside_a_wrong_option(capsys):
    with pytest.raises(SystemExit) as left:
        main(["finetune", "--epochs", "3", "--help"])
    assert left.value.code == 0
    assert "usage:" in capsys.readouterr().out
