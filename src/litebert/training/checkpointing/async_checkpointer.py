"""Asynchronous checkpoints: written in a thread while training continues.

The thread writes a copy of the state in memory, so the files are those of a synchronous save, byte for byte.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from litebert.errors import CheckpointError, LitebertError
from litebert.training.checkpointing.checkpoint import Checkpoint, Checkpoints

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SaveInFlight:
    """A checkpoint that is being written."""

    step: int
    path: Path
    written: Future[Path]


class AsyncCheckpointer:
    """Writes one checkpoint at a time in a thread of rank 0."""

    def __init__(self, checkpoints: Checkpoints, *, before: Callable[[], None]) -> None:
        """`before` is called in the thread before each write: it makes durable what no checkpoint may be ahead of."""
        self.checkpoints, self._before = checkpoints, before
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="litebert-checkpoint")
        self._in_flight: SaveInFlight | None = None

    def __enter__(self) -> "AsyncCheckpointer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the write in flight; its failure is only logged, as the run has ended already."""
        self._thread.shutdown(wait=True)
        if self._in_flight and (failure := self._in_flight.written.exception()):
            logger.warning("%s", _translated(self._in_flight.path, failure))

    @property
    def ended(self) -> bool:
        """Whether a write has ended or failed and `finish` was not called since."""
        return self._in_flight is not None and self._in_flight.written.done()

    def start(self, checkpoint: Checkpoint) -> None:
        """Begin a write; `finish` must have been called for the one before."""
        written = self._thread.submit(self._write, checkpoint)
        self._in_flight = SaveInFlight(checkpoint.step, self.checkpoints.path(checkpoint.step), written)

    def finish(self) -> SaveInFlight | None:
        """Wait for the write in flight, if there is one; a CheckpointError if it failed."""
        done, self._in_flight = self._in_flight, None
        if done and (failure := done.written.exception()):
            raise _translated(done.path, failure) from failure
        return done

    def _write(self, checkpoint: Checkpoint) -> Path:
        self._before()
        return self.checkpoints.save(checkpoint)


def _translated(path: Path, failure: BaseException) -> LitebertError:
    if isinstance(failure, LitebertError):
        return failure
    return CheckpointError(f"{path}: could not be written ({failure!r}); the checkpoint before it is unchanged")
