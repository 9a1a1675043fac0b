"""The end of a run whose parent process was killed."""

import logging
import os
import signal

from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)


class StopWithParent(Callback):
    """Ends the run, with its state saved, when the process that started it has ended.

    A parent that gets SIGKILL cannot stop the processes that it has started; they would train on, unseen.
    """

    def __init__(self) -> None:
        self._parent: int | None = os.getppid()

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Check after every step."""
        self.stop_if_parent_ended()

    def stop_if_parent_ended(self) -> None:
        """Send this process SIGTERM, once, if its parent has ended."""
        if self._parent is not None and os.getppid() != self._parent:
            logger.warning("the process that started this one (%d) has ended; the run stops", self._parent)
            self._parent = None  # a second signal would end the process before its state is saved
            os.kill(os.getpid(), signal.SIGTERM)


def stop_with_parent(world: DistributedContext) -> list[StopWithParent]:
    """The callback where a run has several processes, whose parent is torchrun; none for a single process."""
    return [StopWithParent()] if world.size > 1 else []
