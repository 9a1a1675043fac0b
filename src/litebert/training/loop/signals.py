"""Signals that ask a run to save and leave. Before: a terminal or a scheduler sends one. After: `trainer.py` looks."""

import signal
import threading
from types import FrameType, TracebackType

# Schedulers warn with SIGTERM or SIGUSR1; Windows has no SIGUSR1.
WATCHED = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGUSR1") if hasattr(signal, name))


class StopSignals:
    """Remembers the first signal; from then on signals do what they do by default, so a second Ctrl-C ends at once."""

    def __init__(self) -> None:
        self.number = 0
        """The signal that came, 0 before one does."""
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> "StopSignals":
        # Python delivers signals to the main thread alone; elsewhere the run just cannot be asked to stop.
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
