"""What a person sees: a bar on a terminal, lines elsewhere."""

import io
import sys

import pytest
from rich.console import Console

from litebert.training.duration import Position
from litebert.training.events import StepDone
from litebert.training.progress import LiveDisplay, LogDisplay, describe, progress_display
from training.toy import held_out, train


def test_log_lines_tell_the_run(tmp_path, caplog):
    caplog.set_level("INFO")
    train(tmp_path, duration="2 steps", evaluate=held_out, listeners=[LogDisplay(seconds=0.0)])
    messages = [record.message for record in caplog.records if record.name.endswith("progress")]
    assert messages[0] == "training from step 0 for 2 steps"
    assert messages[1].startswith("step 1 (50.0 %) loss 2.")
    assert messages[3].startswith("evaluated at step 2: loss ")
    assert messages[4].startswith("saved ")


def test_log_lines_are_rare(tmp_path, caplog):
    caplog.set_level("INFO")
    train(tmp_path, listeners=[LogDisplay(seconds=3600.0)])
    assert len([record for record in caplog.records if record.message.startswith("step ")]) == 1


def test_the_bar_shows_the_newest_step(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    train(tmp_path, evaluate=held_out, listeners=[LiveDisplay(console)])
    shown = console.file.getvalue()
    assert "step 6 · loss" in shown
    assert "100.0%" in shown
    assert "evaluated at step 6" in shown


@pytest.mark.parametrize(("terminal", "display"), [(True, LiveDisplay), (False, LogDisplay)])
def test_the_display_suits_the_place(monkeypatch, terminal, display):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert isinstance(progress_display(), display)


def test_a_description_is_short():
    values = {"loss": 2.34567, "mlm_accuracy": 0.5, "grad_norm": 1.0, "tokens_per_second": 12345.6}
    assert describe(values) == "loss 2.346 · mlm accuracy 0.5 · 12,346 tokens/s"


def test_log_lines_tell_the_time_left_once_there_is_a_rate(monkeypatch, caplog):
    caplog.set_level("INFO")
    clock = iter([100.0, 100.0, 110.0, 110.0])
    monkeypatch.setattr("litebert.training.progress.time.monotonic", lambda: next(clock))
    display = LogDisplay(seconds=0.0)
    display(StepDone(Position(step=1), {"progress": 0.1, "loss": 1.0}))
    display(StepDone(Position(step=2), {"progress": 0.2, "loss": 1.0}))
    assert [record.message for record in caplog.records] == [
        "step 1 (10.0 %) loss 1",
        "step 2 (20.0 %, 1:20 left) loss 1",
    ]
