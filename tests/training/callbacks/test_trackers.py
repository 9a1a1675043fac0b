"""Metrics go to `metrics.jsonl`, exact and once; other trackers may fail without harm."""

import json
import re
import sys
import types
import warnings
from pathlib import Path
from typing import get_args

import pytest

from litebert.errors import MissingExtraError
from litebert.training.callbacks.metric_logger import MetricsFile, open_tracker
from litebert.training.train_settings import TrackerName
from support.runs.toy import rows, train


def written(path, *steps: int) -> MetricsFile:
    metrics = MetricsFile(path, step=0)
    for step in steps:
        metrics.log({"train/loss": step / 3}, step)
    return metrics


def steps_of(path) -> list[int]:
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def test_metrics_file_keeps_all_digits(tmp_path):
    path = tmp_path / "metrics.jsonl"
    written(path, 1, 2).finish()
    assert [row["train/loss"] for row in rows(tmp_path)] == [1 / 3, 2 / 3]


def test_metrics_file_has_a_line_as_soon_as_it_is_logged(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metrics = written(path, 1)
    assert steps_of(path) == [1]
    metrics.flush()
    metrics.finish()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_metrics_file_writes_null_for_values_that_are_not_finite(tmp_path, value):
    metrics = MetricsFile(tmp_path / "metrics.jsonl", step=0)
    metrics.log({"train/loss": value}, 1)
    metrics.finish()
    assert rows(tmp_path) == [{"step": 1, "train/loss": None}]


@pytest.mark.parametrize("step", [0, 1, 2, 3, 9])
def test_metrics_file_drops_lines_after_the_resumed_step(tmp_path, step):
    path = tmp_path / "metrics.jsonl"
    written(path, 1, 2, 2, 3).finish()
    MetricsFile(path, step=step).finish()
    assert steps_of(path) == [kept for kept in (1, 2, 2, 3) if kept <= step]


@pytest.mark.parametrize("rest", [b'{"step": 1, "train', b'{"step": 1}', b"\0\0\0\n", b"[]\n", b'{"loss": 1}\n'])
def test_metrics_file_drops_an_incomplete_line(tmp_path, rest):
    path = tmp_path / "metrics.jsonl"
    written(path, 1).finish()
    path.write_bytes(path.read_bytes() + rest)
    MetricsFile(path, step=5).finish()
    assert steps_of(path) == [1]


MODULES = {"tensorboard": "torch.utils.tensorboard", "wandb": "wandb", "trackio": "trackio"}


class Recording:
    """Stands for tensorboard's writer and for wandb's module and run; keeps what it is given."""

    def __init__(self) -> None:
        self.opened: dict = {}
        self.values: list = []
        self.finished = False

    def open(self, *arguments, **options) -> "Recording":
        self.opened = {"arguments": arguments, **options}
        return self

    def add_scalar(self, name, value, step) -> None:
        self.values.append((name, value, step))

    def log(self, values, step) -> None:
        self.values += [(name, value, step) for name, value in values.items()]

    def finish(self) -> None:
        self.finished = True

    close = finish


@pytest.fixture
def libraries(monkeypatch) -> Recording:
    """The tracker libraries, replaced by one recording."""
    recording = Recording()
    modules = {
        "torch.utils.tensorboard": types.SimpleNamespace(SummaryWriter=recording.open),
        "wandb": types.SimpleNamespace(init=recording.open),
        "trackio": types.SimpleNamespace(init=recording.open),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return recording


@pytest.mark.parametrize("name", get_args(TrackerName))
def test_tracker_gets_all_metrics(tmp_path, libraries, name):
    train(tmp_path, duration="2 steps", trackers=[name])
    logged = [(key, value, row["step"]) for row in rows(tmp_path) for key, value in row.items() if key != "step"]
    assert libraries.values == logged
    assert libraries.finished


def test_tensorboard_purges_steps_after_the_resumed_one(tmp_path, libraries):
    open_tracker("tensorboard", tmp_path, step=4)
    assert libraries.opened == {"arguments": (str(tmp_path / "tensorboard"),), "purge_step": 5}


@pytest.mark.parametrize(("step", "resume"), [(0, "never"), (4, "allow")])
def test_trackio_continues_the_run_of_the_directory(tmp_path, libraries, monkeypatch, step, resume):
    monkeypatch.setenv("TRACKIO_PROJECT", "films")
    open_tracker("trackio", tmp_path, step=step)
    expected = {"arguments": (), "project": "films", "resume": resume}
    assert libraries.opened.items() >= expected.items()
    assert re.fullmatch(f"{tmp_path.name}-[0-9a-f]{{8}}", libraries.opened["name"])


def test_wandb_continues_the_run_of_the_directory(tmp_path, libraries):
    open_tracker("wandb", tmp_path, step=4)
    assert re.fullmatch(f"{tmp_path.name}-[0-9a-f]{{8}}", libraries.opened["id"])
    assert (libraries.opened["name"], libraries.opened["resume"]) == (tmp_path.name, "allow")


@pytest.mark.parametrize(("tracker", "key"), [("wandb", "id"), ("trackio", "name")])
def test_directories_of_one_name_are_different_runs_of_a_tracker(tmp_path, libraries, monkeypatch, tracker, key):
    found = []
    for directory in (tmp_path / "cola" / "seed=0", tmp_path / "rte" / "seed=0"):
        open_tracker(tracker, directory, step=0)
        found.append(libraries.opened[key])
    monkeypatch.chdir(tmp_path)
    open_tracker(tracker, Path("cola", "seed=0"), step=4)
    cola, rte = found
    assert cola == libraries.opened[key] != rte


@pytest.mark.parametrize(("name", "module"), MODULES.items())
def test_tracker_that_is_not_installed_is_an_error(tmp_path, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=name):
        train(tmp_path / "run", trackers=[name])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", get_args(TrackerName))
@pytest.mark.parametrize("failing", ["open", "log", "finish"])
def test_tracker_failure_warns_once_and_training_continues(tmp_path, libraries, monkeypatch, caplog, failing, name):
    def fail(*arguments, **options):
        raise OSError("no route to host")

    if name == "tensorboard":
        failing = {"log": "add_scalar", "finish": "close"}.get(failing, failing)
    monkeypatch.setattr(libraries, failing, fail)
    for module in ("wandb", "trackio"):
        monkeypatch.setattr(sys.modules[module], "init", libraries.open)
    monkeypatch.setattr(sys.modules["torch.utils.tensorboard"], "SummaryWriter", libraries.open)
    _, result = train(tmp_path, trackers=[name])
    assert result.steps == 6
    assert caplog.text.count(f"{name} failed and gets no more metrics: no route to host") == 1


def test_tracker_output_goes_to_stderr(tmp_path, libraries, monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["wandb"], "init", lambda **options: sys.stdout.write("Hello!\n"))
    open_tracker("wandb", tmp_path, step=0)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "Hello!\n")


def test_tensorboard_reads_back_the_metrics(tmp_path):
    """Run where the extra is installed: pip install 'litebert[tensorboard]'."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of its dependencies
        train(tmp_path, duration="3 steps", trackers=["tensorboard"])
        events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
        events.Reload()
        found = [(event.step, event.value) for event in events.Scalars("train/loss")]
    assert found == [(row["step"], pytest.approx(row["train/loss"])) for row in rows(tmp_path)]


def test_trackio_reads_back_the_metrics(tmp_path, monkeypatch):
    """Run where the extra is installed: pip install 'litebert[trackio]'."""
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trackio = pytest.importorskip("trackio", reason="not installed")
        train(tmp_path / "run", duration="3 steps", trackers=["trackio"])
        storage = trackio.sqlite_storage.SQLiteStorage
        (run,) = storage.get_runs("litebert")
        logs = storage.get_logs("litebert", run)
    assert run.startswith("run-")
    found = [(log["step"], log["train/loss"]) for log in logs if "train/loss" in log]
    assert found == [(row["step"], row["train/loss"]) for row in rows(tmp_path / "run")]
