"""The batches of a run, made one step ahead."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from litebert.training.protocols import Batch, BatchSource


class Prefetcher:
    """Makes the microbatches of the next step in a thread, while the device computes this one."""

    def __init__(self, batches: BatchSource) -> None:
        self._batches = batches
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="litebert-batches")
        self._ahead: tuple[int, Future[Sequence[Batch]]] | None = None

    def __enter__(self) -> "Prefetcher":
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)

    def microbatches(self, step: int) -> Sequence[Batch]:
        """Microbatches of global batch `step` on this rank; those of the next one are begun."""
        ready = self._ahead[1] if self._ahead and self._ahead[0] == step else self._begin(step)
        batches = ready.result()
        self._ahead = (step + 1, self._begin(step + 1))
        return batches

    def _begin(self, step: int) -> Future[Sequence[Batch]]:
        return self._thread.submit(self._batches.microbatches, step)
