"""`--processes`: the command is started again by torchrun, once, and only where it can be; it ends like them."""

import os
import subprocess
import sys
import time

import pytest

from litebert.cli.arguments.processes import start_processes
from litebert.cli.main import main
from litebert.errors import ConfigError
from support.programs.processes import PYTHONPATH
from support.runs.pretrain_runs import TOY


@pytest.mark.parametrize(("count", "world"), [(1, None), (1, "2"), (2, "2")])
def test_nothing_is_started_for_one_process_or_where_torchrun_has_started_them(monkeypatch, count, world):
    monkeypatch.setattr("litebert.training.distributed.torchrun.torchrun", lambda *_: pytest.fail("started"))
    if world is not None:
        monkeypatch.setenv("WORLD_SIZE", world)
    start_processes(count, ["pretrain"])


@pytest.mark.parametrize("count", [0, 10_000])
def test_numbers_of_processes_that_no_machine_runs_are_refused(count):
    with pytest.raises(ConfigError, match="--processes: expected 1 to"):
        start_processes(count, ["pretrain"])


def test_another_number_than_that_of_torchrun_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ConfigError, match="--processes: 2, but torchrun started 3; leave --processes out"):
        start_processes(2, ["pretrain"])


def two_processes(made, out, *words):
    """The command and environment of `litebert pretrain … --processes 2` of a toy model, as a user runs it."""
    command = [sys.executable, "-m", "litebert", "pretrain", "quickstart", *TOY, "microbatch_size=4", *words]
    command += ["--corpus", str(made / "corpus"), "--out", str(out), "--processes", "2"]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    environment["PYTHONPATH"] = PYTHONPATH
    return {"args": command, "env": environment, "text": True}


def run_two_processes(made, out, *words):
    return subprocess.run(**two_processes(made, out, *words), capture_output=True, timeout=120, check=False)


@pytest.mark.usefixtures("forked_python")
def test_two_processes_divide_a_batch_and_print_one_result(made, tmp_path):
    done = run_two_processes(made, tmp_path / "run", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("batch of 8: 2 process(es) x 1 microbatch(es) of 4") == 1


@pytest.mark.usefixtures("forked_python")
def test_an_error_in_the_processes_is_printed_once_and_alone(made, tmp_path):
    (tmp_path / "file").touch()
    done = run_two_processes(made, tmp_path)
    assert done.returncode == 2
    *log, last = done.stderr.splitlines()
    assert last == f"litebert: {tmp_path}: exists and is not a run directory; choose another --out or remove it"
    assert all(" INFO " in line for line in log)


def test_settings_are_refused_before_processes_are_started(made, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("litebert.training.distributed.torchrun.torchrun", lambda *_: pytest.fail("started"))
    words = ["pretrain", "quickstart", "batch_size=0", "--corpus", str(made / "corpus"), "--out", str(tmp_path / "run")]
    assert main([*words, "--processes", "2"]) == 2
    assert "batch_size" in capsys.readouterr().err


def test_processes_save_their_state_and_end_when_the_one_that_started_them_is_killed(made, tmp_path):
    run = tmp_path / "run"
    words = ["train.duration=100000 steps", "train.checkpoint_every=100000 steps"]
    process = subprocess.Popen(**two_processes(made, run, *words), stderr=subprocess.PIPE)
    while not (run / "metrics.jsonl").exists() or not (run / "metrics.jsonl").read_bytes():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    process.kill()
    _, log = process.communicate(timeout=60)  # ends once no process has its stderr open
    assert f"the process that started this one ({process.pid}) has ended; the run stops" in log
    assert len(list((run / "checkpoints").glob("step-*"))) == 1
