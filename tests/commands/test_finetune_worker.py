"""A fine-tuning run in a process of its own: its arguments, its exit code and the record of its failure."""

import json

import pytest

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune_worker import Failure, RunFiles, finetune_worker, main, train_one
from litebert.errors import CheckpointError, StoppedBySignalError
from support.runs.tiny_runs import opinions_run, save_pretrained


@pytest.fixture
def run(tiny_tokenizer, tmp_path):
    """Settings of a run of a few steps."""
    pretrained = save_pretrained(tiny_tokenizer, tmp_path / "pretrained")
    return FinetuneRun.parse(opinions_run(pretrained, tmp_path / "opinions.csv", duration="2 steps"), where="test")


def test_worker_takes_its_settings_as_an_argument(run, tmp_path, monkeypatch):
    arguments = {
        "settings": run.to_dict(),
        "out": str(tmp_path / "run"),
        "failure": str(tmp_path / "failure.json"),
    }
    monkeypatch.setattr("sys.argv", ["finetune_worker", json.dumps(arguments)])
    assert main() == 0
    assert (tmp_path / "run" / "result.json").exists()

    def stopped(*_, **__):
        raise StoppedBySignalError("stopped by the test", signal_number=15)

    monkeypatch.setattr("litebert.commands.finetune_worker.train_one", stopped)
    assert main() == 143


def test_trial_that_succeeds_removes_its_earlier_failure(run, tmp_path, monkeypatch):
    failure = tmp_path / "failure.json"
    failure.write_text("{}")
    monkeypatch.setattr("litebert.commands.finetune_worker.finetune", lambda *_, **__: None)
    train_one(run, tmp_path / "run", failure)
    assert not failure.exists()


def test_worker_of_a_trial_begins_without_its_earlier_failure(run, tmp_path):
    files = RunFiles(tmp_path)
    Failure("failed", "a reason").write(files.failure("seed=5"))
    worker = finetune_worker("seed=5", run, tmp_path / "run", files)
    assert not files.failure("seed=5").exists()
    assert worker.log == files.log("seed=5")


def test_failure_is_read_as_it_was_written_and_a_damaged_one_is_an_error(tmp_path):
    file = RunFiles(tmp_path).failure("seed=0")
    assert Failure.read(file) is None
    Failure("diverged", "a reason").write(file)
    assert Failure.read(file) == Failure("diverged", "a reason")
    file.write_text("{")
    with pytest.raises(CheckpointError, match="not JSON"):
        Failure.read(file)
    file.write_text("{}")
    with pytest.raises(CheckpointError, match="is no record of a failure; remove it, and run the command again"):
        Failure.read(file)
