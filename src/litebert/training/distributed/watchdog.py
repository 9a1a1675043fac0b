"""A process that hangs is named and ended. Before: `parallel.py` joins processes. After: torchrun restarts them all."""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

import torch.distributed as dist

logger = logging.getLogger(__name__)

_VERDICT = "behind"


class Heartbeat:
    """How often this process has come to a point that all processes of its world come to."""

    def __init__(self) -> None:
        self.count = 0

    def add(self) -> None:
        """Called before each collective and after each forward."""
        self.count += 1


class Watchdog:
    """Ends this process once some ranks have waited `timeout_seconds` for others, which it names.

    Ranks that all do the same long work, such as an evaluation, are left alone. A thread, because a rank that waits
    does so outside of Python, where nothing reaches it.
    """

    def __init__(
        self,
        arrivals: Heartbeat,
        store: dist.Store,
        *,
        rank: int,
        size: int,
        timeout_seconds: float,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._arrivals, self._rank, self._size, self._leave = arrivals, rank, size, leave
        # A connection of its own: the main thread may wait inside the other one.
        self._store = dist.PrefixStore("litebert/arrivals", store.clone())  # pyrefly: ignore[missing-attribute]
        self._timeout = timeout_seconds
        self._tick = min(1.0, timeout_seconds / 20)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="litebert-watchdog", daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        # Whoever keeps the store may leave first; then there is nobody to wait for.
        with suppress(RuntimeError):
            seen, since = -1, time.monotonic()
            while not self._stop.wait(self._tick):
                if self._arrivals.count != seen:
                    seen, since = self._arrivals.count, time.monotonic()
                    self._store.set(str(self._rank), str(seen))
                elif time.monotonic() - since >= self._timeout - 4 * self._tick and (behind := self._behind()):
                    self._store.set(_VERDICT, behind)
                if self._store.check([_VERDICT]):
                    self._say(self._store.get(_VERDICT).decode())
                    # Two looks at the store: until then every other rank has said it, and so leaves for this reason.
                    time.sleep(2 * self._tick)
                    self._leave(1)
                    return

    def _behind(self) -> str:
        """The ranks that others wait for; empty where all have come equally far."""
        ranks = [str(rank) for rank in range(self._size)]
        # A rank that has told nothing yet has never arrived.
        counts = [int(self._store.get(rank)) if self._store.check([rank]) else -1 for rank in ranks]
        return ", ".join(rank for rank, count in zip(ranks, counts, strict=True) if count < max(counts))

    def _say(self, behind: str) -> None:
        logger.error(
            "rank %s kept the others waiting for timeout_seconds=%g; rank %d leaves, so that all can be restarted",
            *(behind, self._timeout, self._rank),
        )
