"""A data file that is given without its option is answered with the option to write."""

import pytest

from litebert.cli.main import main

FINETUNE = ["--model", "m", "--out", "o"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.data").write_text("x")


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("finetune --model m reviews.csv --out o", "did you mean --train reviews.csv?"),
        ("finetune default reviews.tsv.gz --model m --out o", "did you mean --train reviews.tsv.gz?"),
        ("finetune --model m --out o --train a.csv test.csv", "did you mean --dev test.csv?"),
        ("sweep --model m --out o --train=a.csv dev.jsonl", "did you mean --dev dev.jsonl?"),
        ("finetune hf:imdb:train --model m --out o", "did you mean --train hf:imdb:train?"),
        ("finetune notes.data --model m --out o", "did you mean --train notes.data?"),
        (
            "finetune c.csv --train a.csv --dev b.csv --model m --out o",
            "--train and --dev are given already; remove it",
        ),
        ("evaluate m test.csv", "did you mean --data test.csv?"),
    ],
)
def test_data_file_without_its_option(line, advice, capsys):
    assert main(line.split()) == 2
    assert f"a data file without its option; {advice}" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["mine.yaml", "default", "data.dev=b.csv"])
def test_recipes_and_settings_are_left_to_the_command(word, capsys):
    assert main(["finetune", word, "--train", "a.csv", *FINETUNE]) in (2, 3, 4)
    assert "without its option" not in capsys.readouterr().err


def test_help_is_shown_beside_a_misplaced_file(capsys):
    with pytest.raises(SystemExit) as left:
        main(["evaluate", "m", "test.csv", "--help"])
    assert left.value.code == 0
