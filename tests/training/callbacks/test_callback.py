"""Hooks are called in order; callbacks stop a run, limit its updates and keep their state in checkpoints."""

import pytest
import torch

from litebert.errors import ConfigError
from litebert.training.callbacks.callback import Callback
from litebert.training.loop.step import UpdateLimits
from support.runs.callbacks import HookRecorder, KilledError, killer
from support.runs.toy import ToyBatches, ToyModel, rows, train, validation, weights


def test_callback_hooks_are_called_in_order(tmp_path):
    recorder = HookRecorder()
    train(tmp_path, duration="2 steps", evaluate=validation, callbacks=[recorder])
    assert recorder.calls == [
        ("train_begin", 0),
        ("step", 1),
        ("step", 2),
        ("evaluate", 2),
        ("checkpoint", 2),
        ("train_end", 2),
    ]


def test_callback_on_train_end_is_called_after_an_error(tmp_path):
    recorder = HookRecorder()
    with pytest.raises(KilledError):
        train(tmp_path, callbacks=[recorder, killer("step", 2)])
    assert recorder.calls[-1] == ("train_end", 2)


def test_callback_on_rollback_sees_the_progress_of_the_checkpoint(tmp_path):
    recorder = HookRecorder()
    train(
        tmp_path,
        batches=ToyBatches(broken=((5, 0), (6, 0))),
        checkpoint_every="4 steps",
        max_consecutive_skipped_steps=1,
        duration="8 steps",
        callbacks=[recorder],
    )
    assert ("rollback", 4) in recorder.calls


class StopAtStep(Callback):
    def on_step(self, run, record):
        if record.step == 3:
            run.request_stop()


def test_callback_request_to_stop_ends_the_run_with_a_checkpoint(tmp_path):
    _, result = train(tmp_path, callbacks=[StopAtStep()])
    assert (result.steps, result.stopped_early) == (3, True)
    assert (tmp_path / "checkpoints" / "step-00000003").is_dir()
    _, result = train(tmp_path)
    assert (result.steps, result.stopped_early) == (6, False)


class NoUpdates(Callback):
    every_rank = True

    def limits(self, losses):
        return UpdateLimits(loss=0.0)


def test_callback_limits_skip_updates(tmp_path):
    model, result = train(tmp_path, callbacks=[NoUpdates()])
    assert result.skipped_steps == 6
    assert torch.equal(weights(model), weights(ToyModel()))


class CountSteps(Callback):
    def __init__(self, name="CountSteps"):
        self.count, self._name = 0, name

    @property
    def name(self):
        return self._name

    def on_step(self, run, record):
        self.count += 1

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_callback_state_is_restored_by_name(tmp_path):
    with pytest.raises(KilledError):
        train(tmp_path, checkpoint_every="2 steps", callbacks=[CountSteps(), killer("checkpoint", 4)])
    resumed, added = CountSteps(), CountSteps("added")
    train(tmp_path, checkpoint_every="2 steps", callbacks=[added, resumed])
    assert resumed.count == 6
    assert added.count < 6, "it was not in the checkpoint"


def test_stateful_callbacks_of_one_name_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="have the same name"):
        train(tmp_path, callbacks=[CountSteps(), CountSteps()])


class Steps(Callback):
    """A callback whose state is empty until the first step."""

    def __init__(self):
        self.seen = {}

    def on_step(self, run, record):
        self.seen[str(record.step)] = record.batch

    def state_dict(self):
        return dict(self.seen)

    def load_state_dict(self, state):
        self.seen = dict(state)


def test_callbacks_of_one_name_whose_state_is_empty_at_first_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="have the same name"):
        train(tmp_path, callbacks=[Steps(), Steps()])


def test_empty_state_is_saved_and_restored(tmp_path):
    steps = Steps()
    steps.on_step = lambda *_: None
    train(tmp_path, checkpoint_every="2 steps", duration="2 steps", callbacks=[steps])
    later = Steps()
    later.seen = {"0": 0}
    train(tmp_path, checkpoint_every="2 steps", duration="2 steps", callbacks=[later])
    assert later.seen == {}


def test_metric_logger_removes_lines_after_the_checkpoint_on_a_rollback(tmp_path):
    train(
        tmp_path,
        batches=ToyBatches(broken=((5, 0), (6, 0))),
        checkpoint_every="4 steps",
        max_consecutive_skipped_steps=1,
        duration="8 steps",
    )
    assert [row["step"] for row in rows(tmp_path)] == list(range(1, 9))
