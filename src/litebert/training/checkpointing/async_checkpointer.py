"""Checkpoints written while training goes on. Before: a snapshot of a step. After: `checkpoint.py` has it on disk.

The snapshot is a copy in memory, so what is written is what a save that stops the run would write, byte for byte.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from litebert.errors import CheckpointError, LitebertError
from litebert.training.checkpointing.checkpoint import Checkpoint, Checkpoints
from litebert.training.loop.duration import TrainingProgress

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SaveInFlight:
    """A checkpoint that is being written."""

    position: TrainingProgress
    path: Path
    written: Future[Path]


class AsyncCheckpointer:
    """Writes one checkpoint at a time in a thread of rank 0."""

    def __init__(self, checkpoints: Checkpoints, *, before: Callable[[], None]) -> None:
        """`before` is called in the thread before each write: whatever must be durable no later than a checkpoint."""
        self._checkpoints, self._before = checkpoints, before
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="litebert-checkpoint")
        self._in_flight: SaveInFlight | None = None

    def __enter__(self) -> "AsyncCheckpointer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let what is being written come to its end; its failure no longer stops what has already stopped."""
        self._thread.shutdown(wait=True)
        if self._in_flight and (failure := self._in_flight.written.exception()):
            logger.warning("%s", _explained(self._in_flight.path, failure))

    @property
    def ended(self) -> bool:
        """Whether a write has come to its end, well or not, and `finish` has not told of it yet."""
        return self._in_flight is not None and self._in_flight.written.done()

    def start(self, checkpoint: Checkpoint, position: TrainingProgress) -> None:
        """Begin to write; `finish` must have told of the one before."""
        written = self._thread.submit(self._write, checkpoint)
        self._in_flight = SaveInFlight(position, self._checkpoints.path(checkpoint.step), written)

    def finish(self) -> SaveInFlight | None:
        """Wait for what is being written, if anything is; a CheckpointError if it could not be."""
        done, self._in_flight = self._in_flight, None
        if done and (failure := done.written.exception()):
            raise _explained(done.path, failure) from failure
        return done

    def _write(self, checkpoint: Checkpoint) -> Path:
        self._before()
        return self._checkpoints.save(checkpoint)


def _explained(path: Path, failure: BaseException) -> LitebertError:
    if isinstance(failure, LitebertError):
        return failure
    return CheckpointError(f"{path}: could not be written ({failure!r}); the checkpoint before it is as it was")
