"""Callbacks that act or raise at a chosen hook, as if the process were killed there."""

from collections.abc import Callable
from typing import Literal

import pytest

from litebert.training.callbacks.callback import Callback

Hook = Literal["step", "checkpoint"]


class KilledError(BaseException):
    """The process would be gone."""


class At(Callback):
    """Calls `action` after a step, or once its checkpoint is on disk."""

    def __init__(self, hook: Hook, step: int, action: Callable[[], object]) -> None:
        self._hook, self._step, self._action = hook, step, action

    def on_step(self, run, record) -> None:
        if (self._hook, self._step) == ("step", record.step):
            self._action()

    def on_checkpoint(self, run, path, step) -> None:
        if (self._hook, self._step) == ("checkpoint", step):
            self._action()


class HookRecorder(Callback):
    """Lists the hooks that were called, with the step."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def on_train_begin(self, run) -> None:
        self.calls.append(("train_begin", run.progress.step))

    def on_step(self, run, record) -> None:
        self.calls.append(("step", record.step))

    def on_evaluate(self, run, metrics) -> None:
        self.calls.append(("evaluate", run.progress.step))

    def on_checkpoint(self, run, path, step) -> None:
        self.calls.append(("checkpoint", step))

    def on_rollback(self, run) -> None:
        self.calls.append(("rollback", run.progress.step))

    def on_train_end(self, run) -> None:
        self.calls.append(("train_end", run.progress.step))


def killer(hook: Hook, step: int) -> Callback:
    """A callback that ends the run at a hook."""

    def kill() -> None:
        raise KilledError

    return At(hook, step, kill)


def killed_after_saving(step: int, run: Callable[..., object]) -> None:
    """Do `run(callbacks=…)` until it has saved that step."""
    with pytest.raises(KilledError):
        run(callbacks=[killer("checkpoint", step)])
