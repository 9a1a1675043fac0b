"""Empty values, such as those of an unset variable, are refused and named."""

import pytest

from litebert.cli.main import main

FINETUNE = ["finetune", "--train", "a.csv", "--out", "o"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([*FINETUNE, "--model", ""], "--model"),
        ([*FINETUNE, "--model="], "--model"),
        (["pretrain", "tiny", "--corpus", "corpus", "--out", ""], "--out"),
        (["predict", "", "a.csv", "b.csv"], "argument 1"),
        (["finetune", "--model", "m", "--train", "a.csv", "", "--out", "o"], "argument 5"),
    ],
)
def test_empty_argument_is_refused_and_named(words, named, capsys):
    assert main(words) == 2
    said = f"litebert: {named}: the value is empty, as that of an unset variable; give one, or leave it out\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("setting", ["init_checkpoint=", "train.duration= "])
def test_empty_setting_is_refused_with_what_to_write_for_none(setting, capsys):
    name = setting.partition("=")[0]
    assert main(["pretrain", "tiny", setting, "--corpus", "corpus", "--out", "o"]) == 2
    assert f"{name}: the value is empty" in (said := capsys.readouterr().err)
    assert f"or write {name}=null for none" in said


def test_value_that_ends_with_the_sign_is_no_empty_one(capsys):
    assert main(["search", "absent-model", "a.csv", "--query", "1+1="]) == 4
    assert "is empty" not in capsys.readouterr().err
