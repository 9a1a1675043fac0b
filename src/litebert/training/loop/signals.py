"""Signals of a terminal or a scheduler that ask a run to save its state and stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torch import nn

from litebert.training.distributed.context import DistributedContext, GatherInterruptedError

# Schedulers warn with SIGTERM or SIGUSR1, a closed terminal with SIGHUP; Windows has neither SIGUSR1 nor SIGHUP.
NAMES = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGHUP")
WATCHED = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


class StopSignals:
    """Remembers the first signal; a second Ctrl-C ends the process.

    Other signals that come again change nothing: where a scheduler signals the whole job, torchrun passes on to its
    workers the signal that they already have, and they must live until their state is saved.
    """

    def __init__(self) -> None:
        self.number = 0
        """Number of the signal that was received; 0 without one."""
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> "StopSignals":
        # Python delivers signals to the main thread only; a run in another thread cannot be stopped by one.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._remember) for number in filter(_is_heard, WATCHED)}
        return self

    def __exit__(self, *error: object) -> None:
        for watched, handler in self._before.items():
            signal.signal(watched, handler)  # pyrefly: ignore[bad-argument-type]

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _is_heard(number: signal.Signals) -> bool:
    """Whether a signal asks this process to stop: not SIGHUP under nohup, which is to outlive its terminal."""
    return number.name != "SIGHUP" or signal.getsignal(number) != signal.SIG_IGN


@contextmanager
def interruptible(model: nn.Module, signals: StopSignals, world: DistributedContext) -> Iterator[None]:
    """Leave an evaluation, without an error, before the next call of `model` or of its encoder after a signal.

    Models call methods of their encoder; question answering with no-answer has a method that calls the encoder itself.

    Ranks without the signal leave at their next `gather`, which an evaluation on several ranks ends with.
    """

    def check(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if signals.number:
            raise _SignalReceivedError

    modules = [each for each in (model, getattr(model, "encoder", None)) if each is not None]
    hooks = [module.register_forward_pre_hook(check) for module in modules]
    try:
        yield
    except _SignalReceivedError:
        world.interrupt_gather()
    except GatherInterruptedError:
        pass
    finally:
        for hook in hooks:
            hook.remove()


class _SignalReceivedError(Exception):
    pass
