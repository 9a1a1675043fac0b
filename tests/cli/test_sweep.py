"""Sweeps and ensembles through the command line: two commands from a file to an ensemble."""

import json

import pytest

from litebert.cli.main import main
from support.data.labelled_files import write_opinions

QUICK = ("train.duration=2 steps", "train.device=cpu", "max_length=32")


@pytest.fixture(scope="module")
def swept(made, tmp_path_factory):
    """(labelled file, directory of a sweep over two seeds)."""
    here = tmp_path_factory.mktemp("sweep")
    file = write_opinions(here / "opinions.csv")
    words = ["--model", str(made / "run" / "model"), "--train", str(file), "--out", str(here / "sweep"), "--seeds", "2"]
    assert main(["sweep", "quickstart", *QUICK, *words]) == 0
    return file, here / "sweep"


def test_sweep_of_finished_trials_prints_text_and_json(made, swept, capsys):
    file, out = swept
    words = ["--model", str(made / "run" / "model"), "--train", str(file), "--out", str(out)]
    assert main(["sweep", "quickstart", *QUICK, *words, "--grid", "seed=0..1"]) == 0
    assert "median accuracy" in capsys.readouterr().out
    assert main(["sweep", "quickstart", *QUICK, *words, "--seeds", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["trials"]) == 2


def test_ensemble_of_the_runs_of_a_sweep(swept, tmp_path, capsys):
    file, out = swept
    members = [str(run) for run in sorted((out / "runs").iterdir())]
    assert main(["ensemble", *members, "--data", str(file), "--out", str(tmp_path / "answers.csv")]) == 0
    shown = capsys.readouterr().out
    assert "ensemble of 2" in shown
    assert "36 predictions written" in shown
    assert main(["ensemble", *members, "--data", str(file), "--select", "forward", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["given"] == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["sweep", "quickstart", "--model", "m", "--out", "o"], 2, "give either --train (a labelled file)"),
        (["sweep", "quickstart", "--model", "m", "--out", "o", "--train", "t.csv"], 2, "nothing to compare"),
        (["ensemble", "m", "--data", "d.csv", "--select", "forward"], 4, "m: no such directory"),
        (["ensemble", "m", "--data", "d.csv", "--split", "test"], 2, "split: only with a benchmark"),
    ],
)
def test_wrong_arguments_of_sweep_and_ensemble_are_rejected(tmp_path, monkeypatch, capsys, words, code, message):
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
