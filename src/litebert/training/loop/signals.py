"""Signals of a terminal or a scheduler that ask a run to save its state and stop."""

import signal
import threading
from types import FrameType, TracebackType

# Schedulers warn with SIGTERM or SIGUSR1; Windows has no SIGUSR1.
WATCHED = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGUSR1") if hasattr(signal, name))


class StopSignals:
    """Remembers the first signal; after it signals have their default effect, so a second Ctrl-C ends the process."""

    def __init__(self) -> None:
        self.number = 0
        """Number of the signal that was received; 0 without one."""
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> "StopSignals":
        # Python delivers signals to the main thread only; a run in another thread cannot be stopped by one.
        if threading.current_thread() is threading.main_thread():
            self._before = {watched: signal.signal(watched, self._remember) for watched in WATCHED}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for watched, handler in self._before.items():
            signal.signal(watched, handler)  # pyrefly: ignore[bad-argument-type]

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        for watched in WATCHED:
            signal.signal(watched, signal.SIG_DFL)
