"""Watchdog: ends all processes of a run if some of them hang, and names these, so that torchrun restarts all.

A rank that works alone for longer than the others wait looks the same; the log has what it was doing.
"""

import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

import torch.distributed as dist

logger = logging.getLogger(__name__)

_STRAGGLERS = "stragglers"


class Heartbeat:
    """Counts the points of a run that all its processes pass: collectives and forwards."""

    def __init__(self) -> None:
        self.count = 0

    def add(self) -> None:
        """Count one more; called before each collective and after each forward."""
        self.count += 1


class Watchdog:
    """Ends this process if some ranks have waited `timeout_seconds` for others, which the log names.

    Ranks that are all equally far, such as in a long evaluation, do not time out. It is a thread because a rank in a
    collective waits outside of Python.
    """

    def __init__(
        self,
        heartbeat: Heartbeat,
        store: dist.Store,
        *,
        rank: int,
        size: int,
        timeout_seconds: float,
        exit_process: Callable[[int], object] = os._exit,
    ) -> None:
        self._heartbeat, self._rank, self._size, self._exit_process = heartbeat, rank, size, exit_process
        # A connection of its own, as the main thread may block the other one.
        self._store = dist.PrefixStore("litebert/heartbeat", store.clone())  # pyrefly: ignore[missing-attribute]
        self._timeout = timeout_seconds
        self._tick = min(1.0, timeout_seconds / 20)
        self._watched = threading.get_ident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="litebert-watchdog", daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        # The process that holds the store may end first; then there is nothing to watch.
        with suppress(RuntimeError):
            seen, since = -1, time.monotonic()
            while not self._stop.wait(self._tick):
                if self._heartbeat.count != seen:
                    seen, since = self._heartbeat.count, time.monotonic()
                    self._store.set(str(self._rank), str(seen))
                elif time.monotonic() - since >= self._timeout - 4 * self._tick and (stragglers := self._stragglers()):
                    self._store.set(_STRAGGLERS, stragglers)
                if self._store.check([_STRAGGLERS]):
                    self._log(self._store.get(_STRAGGLERS).decode())
                    # Two intervals: by then every other rank has read the store, and ends for the same reason.
                    time.sleep(2 * self._tick)
                    self._exit_process(1)
                    return

    def _stragglers(self) -> str:
        """The ranks that others wait for; empty if all are equally far."""
        ranks = [str(rank) for rank in range(self._size)]
        # A rank without a value has not passed any point yet.
        counts = [int(self._store.get(rank)) if self._store.check([rank]) else -1 for rank in ranks]
        return ", ".join(rank for rank, count in zip(ranks, counts, strict=True) if count < max(counts))

    def _log(self, stragglers: str) -> None:
        logger.error(
            "straggler timeout: rank %s is behind for timeout_seconds=%g; rank %d exits, so that all can restart",
            stragglers,
            self._timeout,
            self._rank,
        )
        if str(self._rank) in stragglers.split(", "):
            logger.error(
                "rank %d was here; if it hangs, restart, and if it has to work this long, such as on a large corpus, "
                "raise train.timeout_seconds:\n%s",
                self._rank,
                "".join(traceback.format_stack(sys._current_frames()[self._watched])),
            )
