"""Progress displays: a bar on a terminal, log lines elsewhere."""

import io
import logging
import math
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from litebert.tasks.benchmarks.benchmarks import BENCHMARKS
from litebert.tasks.types.registry import task_types
from litebert.training.callbacks.callback import RunState, StepRecord
from litebert.training.callbacks.progress_display import (
    LiveDisplay,
    LogDisplay,
    RunningMeans,
    describe,
    progress_display,
)
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.run_schedule import RunSchedule, TrainingProgress
from litebert.training.loop.step import StepOutcome
from support.models.tolerances import tolerance
from support.runs.toy import ToyBatches, ToyModel, settings, train, validation


def state(step: int) -> RunState:
    schedule = RunSchedule.of(settings(duration="10 steps"), ToyBatches())
    world = DistributedContext.current("cpu")
    return RunState(ToyModel(), Path(), world, schedule, TrainingProgress(step=step))


def record(step: int) -> StepRecord:
    outcome = StepOutcome({"a": 1.0}, {}, grad_norm=1.0)
    return StepRecord(step, step - 1, 0.1, outcome, {"progress": step / 10, "loss": 1.0})


def test_log_display_logs_start_steps_evaluations_and_checkpoints(tmp_path, caplog):
    caplog.set_level("INFO")
    train(tmp_path, duration="2 steps", evaluate=validation, callbacks=[LogDisplay(seconds=0.0)])
    messages = [record.message for record in caplog.records if record.name.endswith("progress_display")]
    assert messages[0] == "training from step 0 for 2 steps"
    assert messages[1].startswith("step 1 (50.0 %) class accuracy ")
    assert messages[3].startswith("validation at step 2: class accuracy ")
    assert messages[4].startswith("saved ")


@pytest.mark.parametrize("is_set_up", [True, False])
def test_log_display_writes_to_stderr_where_logging_is_not_set_up(tmp_path, caplog, capsys, monkeypatch, is_set_up):
    caplog.set_level("INFO")
    monkeypatch.setattr(logging.getLogger("litebert"), "propagate", is_set_up)
    train(tmp_path, duration="2 steps", callbacks=[LogDisplay(seconds=0.0)])
    shown = capsys.readouterr().err
    assert ("training from step 0 for 2 steps\nstep 1 (50.0 %) " in shown) is not is_set_up
    assert ("training from step 0 for 2 steps" in caplog.text) is is_set_up


def test_log_display_logs_one_line_in_its_interval(tmp_path, caplog):
    caplog.set_level("INFO")
    train(tmp_path, callbacks=[LogDisplay(seconds=3600.0)])
    assert len([record for record in caplog.records if record.message.startswith("step ")]) == 1


def test_live_display_shows_the_newest_step(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    train(tmp_path, evaluate=validation, callbacks=[LiveDisplay(console)])
    shown = console.file.getvalue()
    assert "step 6 of 6" in shown
    assert "100.0 %" in shown
    assert "validation at step 6: class accuracy " in shown
    assert "tokens/s" in shown
    assert "saved " in shown


@pytest.mark.parametrize(("terminal", "display"), [(True, LiveDisplay), (False, LogDisplay)])
def test_progress_display_is_live_only_on_a_terminal(monkeypatch, terminal, display):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert isinstance(progress_display(), display)


def test_description_shows_losses_accuracies_and_throughput():
    values = {
        "loss": 6.3,
        "mlm_loss": 5.66123,
        "sop_loss": 0.6821,
        "size_loss": 2.0,
        "mlm_accuracy": 0.13214,
        "sop_accuracy": 0.574,
        "mlm_1_word_accuracy": 0.2,
        "grad_norm": 1.0,
        "tokens_per_second": 12345.6,
        "mfu": 0.4111,
        "memory_bytes": 3 * 2**30,
    }
    assert describe(values) == (
        "MLM accuracy 13.2% (loss 5.661) · SOP accuracy 57.4% (loss 0.6821) · size loss 2 · 12,346 tokens/s · "
        "MFU 41.1% · 3.0 GiB"
    )


@pytest.mark.parametrize(
    ("values", "text"),
    [({"loss": 2.5}, "loss 2.5"), ({"accuracy": 0.75, "f1": 0.5}, "accuracy 75.0% · f1 0.5"), ({}, "")],
)
def test_description_without_named_losses_shows_the_metrics(values, text):
    assert describe(values) == text


def usual_metrics() -> dict[str, tuple[str, ...]]:
    """Of every kind of fine-tuning and every published task, the one that selects first."""
    official = {name: row.metrics for name, row in BENCHMARKS.items()}
    by_kind: dict[str, tuple[str, ...]] = {each.name: each.metrics for each in task_types()}
    thresholds = ("no_answer_threshold", "best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh")
    return official | by_kind | {"extractive_qa_no_answer": (*by_kind["extractive_qa_no_answer"], *thresholds)}


@pytest.mark.parametrize(("kind", "names"), usual_metrics().items(), ids=usual_metrics())
def test_log_display_shows_the_selecting_metric_of_every_task_first(caplog, kind, names):
    caplog.set_level("INFO")
    scores = {name: 0.81239 - index / 10 for index, name in enumerate(names)}
    LogDisplay().on_evaluate(state(step=7), scores)
    (message,) = [record.message for record in caplog.records]
    first = "81.2%" if names[0].endswith("accuracy") else "0.8124"
    assert message.startswith(f"validation at step 7: {names[0].replace('_', ' ')} {first}")
    assert message.count(" · ") == min(len(names), 4) - 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_running_means_stay_between_the_extremes(accuracies):
    means = RunningMeans(steps=5)
    shown = [means.add({"mlm_accuracy": value, "progress": 0.5}) for value in accuracies]
    rounding = tolerance(torch.float64)
    assert min(accuracies) - rounding <= shown[-1]["mlm_accuracy"] <= max(accuracies) + rounding
    assert shown[0]["mlm_accuracy"] == pytest.approx(accuracies[0])
    assert shown[-1]["progress"] == 0.5


def test_running_means_ignore_values_that_are_not_finite():
    means = RunningMeans()
    means.add({"loss": 2.0})
    assert math.isnan(means.add({"loss": math.nan})["loss"])
    assert means.add({"loss": 2.0})["loss"] == 2.0


@pytest.mark.parametrize(("seconds", "left"), [(10, "1 min 20 s left"), (450, "1 h left"), (9000, "20 h left")])
def test_log_display_estimates_the_time_left_from_the_second_step(monkeypatch, caplog, seconds, left):
    caplog.set_level("INFO")
    clock = iter([100.0, 100.0 + seconds])
    monkeypatch.setattr("litebert.training.callbacks.progress_display.time.monotonic", lambda: next(clock))
    display = LogDisplay(seconds=0.0)
    for step in (1, 2):
        display.on_step(state(step), record(step))
    assert [record.message for record in caplog.records] == [
        "step 1 (10.0 %) loss 1",
        f"step 2 (20.0 %, {left}) loss 1",
    ]


def test_log_display_estimates_the_time_left_anew_in_a_second_run(monkeypatch, caplog):
    """Steps 1 and 2 of the second run are 10 s apart, a week after the first run."""
    caplog.set_level("INFO")
    clock = iter([0.0, 1.0, 604_800.0, 604_810.0])
    monkeypatch.setattr("litebert.training.callbacks.progress_display.time.monotonic", lambda: next(clock))
    display = LogDisplay(seconds=0.0)
    for _ in range(2):
        display.on_train_begin(state(step=0))
        for step in (1, 2):
            display.on_step(state(step), record(step))
    assert caplog.records[-1].message == "step 2 (20.0 %, 1 min 20 s left) loss 1"


def test_live_display_estimates_the_time_left_of_a_resumed_run_from_its_own_steps(monkeypatch):
    """Steps 6 and 7 of 10 are 20 s apart; the five steps before the run was resumed do not count."""
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    clock = iter([100.0, 120.0])
    monkeypatch.setattr("litebert.training.callbacks.progress_display.time.monotonic", lambda: next(clock))
    display = LiveDisplay(console)
    display.on_train_begin(state(step=5))
    for step in (6, 7):
        display.on_step(state(step), record(step))
    display.on_train_end(state(step=7))
    assert "step 7 of 10" in console.file.getvalue()
    assert "1 min left" in console.file.getvalue()


def test_live_display_of_a_resumed_run_begins_where_it_was():
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    display = LiveDisplay(console)
    display.on_train_begin(state(step=5))
    display.on_train_end(state(step=5))
    assert "50.0 %" in console.file.getvalue()
