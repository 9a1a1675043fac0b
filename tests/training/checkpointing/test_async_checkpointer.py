"""A checkpoint written while training goes on is the one that a save which stops the run would write."""

import threading
from pathlib import Path

import pytest
import torch

from litebert.errors import CheckpointError
from litebert.training.checkpointing.async_checkpointer import AsyncCheckpointer
from litebert.training.checkpointing.checkpoint import Checkpoint, Checkpoints
from litebert.training.loop.progress import TrainingProgress
from support.limits import files_no_larger_than
from support.toy import rows, train, trainer


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(step, {}, {"weight": torch.full((3,), float(step))}, {"weight/step": torch.tensor(2.0)})


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


class Held(Checkpoints):
    """Checkpoints whose writing waits to be let go."""

    go = threading.Event()

    def save(self, checkpoint):
        assert self.go.wait(30)
        return super().save(checkpoint)


@pytest.fixture
def held(monkeypatch):
    monkeypatch.setattr("litebert.training.trainer.Checkpoints", Held)
    Held.go.clear()
    yield Held.go
    Held.go.set()


def test_what_is_written_meanwhile_is_what_a_save_that_stops_would_write(tmp_path, monkeypatch):
    changes = {"checkpoint_every": "2 steps", "keep_checkpoints": 3, "optimizer": "lamb"}
    monkeypatch.setattr("litebert.training.trainer.time.perf_counter", lambda: 0.0)  # checkpoints hold the time
    monkeypatch.setattr("litebert.training.trainer.throughput", lambda **rates: {})
    train(tmp_path / "meanwhile", **changes)

    def start_and_wait(self, checkpoint, position):
        original(self, checkpoint, position)
        self._in_flight.written.exception()

    original = AsyncCheckpointer.start
    monkeypatch.setattr(AsyncCheckpointer, "start", start_and_wait)
    train(tmp_path / "stopping", **changes)
    written = [contents(tmp_path / name / "checkpoints") for name in ("meanwhile", "stopping")]
    assert written[0] == written[1]
    assert len(written[0]) == 3 * 4 + 1


def test_training_goes_on_while_a_checkpoint_is_written_and_only_one_is(tmp_path, held):
    """Step 3 is done before the checkpoint of step 2 is, and that of step 4 waits for it."""
    seen = []

    def listener(event):
        seen.append((type(event), event.position.step))
        if isinstance(event, StepDone) and event.position.step == 3:
            assert not (tmp_path / "checkpoints").exists()
            held.set()

    train(tmp_path, duration="4 steps", checkpoint_every="2 steps", callbacks=[listener])
    assert seen.index(("step", 3)) < seen.index(("checkpoint", 2)) < seen.index(("checkpoint", 4))


def test_the_end_of_a_run_waits_for_its_checkpoint(tmp_path, held):
    threading.Timer(0.2, held.set).start()
    train(tmp_path, duration="2 steps")
    assert (tmp_path / "checkpoints" / "LATEST").read_text() == "step-00000002\n"


def test_a_failure_reaches_the_next_step_and_the_checkpoint_before_stays(tmp_path):
    failed = []

    def listener(event):
        if isinstance(event, Saved):
            monkey.setattr(Checkpoints, "save", fail)
        if isinstance(event, StepDone):
            failed.append(event.position.step)

    def fail(self, checkpoint):
        raise RuntimeError("cosmic ray")

    with pytest.MonkeyPatch.context() as monkey:
        run = trainer(tmp_path, duration="2000 steps", checkpoint_every="5 steps", callbacks=[listener])
        with pytest.raises(CheckpointError, match=r"step-000000\d\d: could not be written .*cosmic ray.*as it was"):
            run.fit()
    assert failed[-1] < 30
    assert (tmp_path / "checkpoints" / "LATEST").read_text() == "step-00000005\n"


def test_a_failure_after_another_error_is_told_and_hides_nothing(tmp_path, caplog):
    def interrupted() -> None:
        with AsyncCheckpointer(Checkpoints(tmp_path, keep=1), before=lambda: 1 / 0) as saver:
            saver.start(checkpoint(1), TrainingProgress(step=1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "could not be written" in caplog.text


def test_nothing_in_flight_is_nothing_to_wait_for(tmp_path):
    with AsyncCheckpointer(Checkpoints(tmp_path, keep=1), before=lambda: None) as saver:
        assert not saver.ended
        assert saver.finish() is None


def test_a_full_disk_ends_the_run_in_a_sentence_with_the_checkpoint_before_whole(tmp_path):
    """The file system refuses the second checkpoint; the run ends, and goes on once there is room."""

    def listener(event):
        if isinstance(event, Saved) and event.position.step == 2:
            limit.__enter__()

    limit = files_no_larger_than(1000)
    changes = {"checkpoint_every": "2 steps", "log_every": 100}
    try:
        with pytest.raises(
            CheckpointError, match=r"step-00000004 \(.* kB\): could not be written: the file is larger"
        ) as error:
            train(tmp_path, **changes, callbacks=[listener])
    finally:
        limit.__exit__(None, None, None)
    assert error.value.exit_code == 4
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["LATEST", "step-00000002"]
    _, result = train(tmp_path, **changes)
    assert result.steps == 6


def test_a_full_disk_at_a_metrics_line_ends_the_run_in_a_sentence_and_the_line_is_mended(tmp_path):
    train(tmp_path / "whole")
    with (
        files_no_larger_than(700),
        pytest.raises(CheckpointError, match=r"metrics\.jsonl \(.*\): could not be written"),
    ):
        train(tmp_path / "cut", checkpoint_every="100 steps")
    assert not (tmp_path / "cut" / "metrics.jsonl").read_bytes().endswith(b"\n"), "cut in the middle of a line"
    train(tmp_path / "cut")
    assert [row["train/loss"] for row in rows(tmp_path / "cut")] == [
        row["train/loss"] for row in rows(tmp_path / "whole")
    ]
