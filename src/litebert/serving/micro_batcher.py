"""Micro-batching: examples of many requests wait in one queue and are answered in batches by one thread.

A batch is chosen when the model is free, so batches grow with the load by themselves: a request that finds the model
idle is answered alone and at once.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, Protocol

from litebert.errors import ConfigError, DataError
from litebert.serving.http.http_errors import ModelFailedError, OverloadedError, RequestError
from litebert.serving.model_operations import Operation
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.server_metrics import ModelMetrics

logger = logging.getLogger(__name__)

SMOOTHING: Final = 0.1
"""Weight of the newest value in the moving averages of arrivals and speed."""
LONGEST_INTERVAL: Final = 1.0
"""Longest time between two arrivals in seconds, as the average counts it."""
LONGEST_RETRY_SECONDS: Final = 60


class Answers(Protocol):
    """Runs an operation on examples, in the thread of the model."""

    def __call__(self, operation: Operation, examples: Sequence[Any], /) -> Sequence[Any]:
        """The result for each example."""
        ...


@dataclass(slots=True, eq=False)
class Entry:
    """One example in the queue."""

    operation: Operation
    example: Any
    tokens: int
    answer: asyncio.Future[Any]
    queued_at: float = field(default_factory=time.monotonic)
    started_at: float = 0.0
    finished_at: float = 0.0


class MicroBatcher:
    """The queue of one model. Use from one event loop."""

    def __init__(self, answers: Answers, settings: ServeSettings, metrics: ModelMetrics) -> None:
        self._answers = answers
        self._settings = settings
        self._metrics = metrics
        self._waiting: list[Entry] = []
        self._waiting_tokens = 0
        self._changed = asyncio.Event()
        self._arrival_interval = LONGEST_INTERVAL
        self._last_arrival = 0.0
        self._tokens_per_second = 0.0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="inference")
        self._loop_task: asyncio.Task[None] | None = None
        self._is_closing = False

    @property
    def is_full(self) -> bool:
        """Whether the limit of waiting tokens is reached."""
        return not self._has_room(1)

    def check_capacity(self, tokens: int = 1) -> None:
        """Raise OverloadedError, with the time after which to try again, if the queue has no room for the tokens."""
        if not self._has_room(tokens):
            self._metrics.rejected.inc()
            raise OverloadedError(
                f"the queue is full: {self._waiting_tokens} tokens wait, of {self._settings.max_queue_tokens} at most; "
                "try again after the seconds of the header Retry-After",
                headers={"Retry-After": str(self._retry_seconds())},
            )

    async def submit(self, operation: Operation, examples: Sequence[tuple[Any, int]]) -> list[Entry]:
        """The answered entries of some (example, tokens), which leave the queue if the caller is cancelled.

        Raises RequestError if one of them has no answer, OverloadedError if the queue has no room for all of them.
        """
        self.check_capacity(sum(tokens for _, tokens in examples))
        if self._loop_task is None:
            self._loop_task = asyncio.create_task(self._answer_batches())
        loop = asyncio.get_running_loop()
        entries = [Entry(operation, example, tokens, loop.create_future()) for example, tokens in examples]
        self._enqueue(entries)
        try:
            await asyncio.gather(*(entry.answer for entry in entries))
        except BaseException:
            self._withdraw(entries)
            raise
        return entries

    async def close(self) -> None:
        """Answer what waits, then end the thread."""
        self._is_closing = True
        self._changed.set()
        if self._loop_task is not None:
            await self._loop_task
        self._thread.shutdown()

    def _has_room(self, tokens: int) -> bool:
        """Whether so many more may wait; what is larger than the whole queue may while nothing else waits."""
        waiting = self._waiting_tokens
        return not waiting or waiting + tokens <= self._settings.max_queue_tokens

    def _enqueue(self, entries: Sequence[Entry]) -> None:
        now = time.monotonic()
        interval = min(now - self._last_arrival, LONGEST_INTERVAL)
        self._arrival_interval += SMOOTHING * (interval - self._arrival_interval)
        self._last_arrival = now
        self._waiting += entries
        self._count_waiting()
        self._changed.set()

    def _withdraw(self, entries: Sequence[Entry]) -> None:
        """Take the entries of a request that ended out of the queue."""
        for entry in entries:
            entry.answer.cancel()
            if entry.answer.done() and not entry.answer.cancelled():
                entry.answer.exception()  # retrieved: another entry of the request has raised already
        self._waiting = [entry for entry in self._waiting if not entry.answer.done()]
        self._count_waiting()

    def _count_waiting(self) -> None:
        self._waiting_tokens = sum(entry.tokens for entry in self._waiting)
        self._metrics.waiting_tokens.set(self._waiting_tokens)

    def _retry_seconds(self) -> int:
        if not self._tokens_per_second:
            return 1
        return min(LONGEST_RETRY_SECONDS, max(1, ceil(self._waiting_tokens / self._tokens_per_second)))

    async def _answer_batches(self) -> None:
        while self._waiting or not self._is_closing:
            self._changed.clear()
            if not self._waiting:
                await self._changed.wait()
                continue
            await self._wait_for_more()
            batch = self._next_batch()
            if batch:
                await self._answer_batch(batch)

    async def _answer_batch(self, batch: Sequence[Entry]) -> None:
        """Answer the entries; after an unexpected error with that, so that the model answers the next batch."""
        try:
            results = await asyncio.get_running_loop().run_in_executor(self._thread, self._results, batch)
            self._finish(batch, results)
        except Exception as error:
            failure = _error(error)
            for entry in batch:
                if not entry.answer.done():
                    entry.answer.set_exception(failure)

    async def _wait_for_more(self) -> None:
        """Wait for a full batch, if requests arrive so fast that waiting brings some."""
        longest = self._settings.max_wait_milliseconds / 1000
        if self._arrival_interval > longest or self._is_closing:
            return
        end = time.monotonic() + longest
        while self._waiting_tokens < self._settings.max_batch_tokens and (left := end - time.monotonic()) > 0:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                return

    def _next_batch(self) -> list[Entry]:
        """The oldest entry, and those of its operation that are most like it in length, up to the token budget."""
        if not self._waiting:
            return []
        oldest = self._waiting[0]
        same = [entry for entry in self._waiting if entry.operation == oldest.operation]
        same.sort(key=lambda entry: (entry is not oldest, abs(entry.tokens - oldest.tokens)))
        batch, tokens = [], 0
        for entry in same:
            if batch and tokens + entry.tokens > self._settings.max_batch_tokens:
                break
            batch.append(entry)
            tokens += entry.tokens
        taken = set(map(id, batch))
        self._waiting = [entry for entry in self._waiting if id(entry) not in taken]
        self._count_waiting()
        return batch

    def _results(self, batch: Sequence[Entry]) -> list[Any]:
        """The result or the error for each entry; runs in the thread of the model."""
        started = time.monotonic()
        try:
            results: list[Any] = list(self._answers(batch[0].operation, [entry.example for entry in batch]))
        except Exception as error:
            # One example may make a whole batch fail: answer the others.
            results = [_error(error)] if len(batch) == 1 else [self._results([entry])[0] for entry in batch]
        finished = time.monotonic()
        for entry in batch:
            entry.started_at, entry.finished_at = started, finished
        return results

    def _finish(self, batch: Sequence[Entry], results: Sequence[Any]) -> None:
        tokens, seconds = sum(entry.tokens for entry in batch), batch[0].finished_at - batch[0].started_at
        speed = tokens / max(seconds, 1e-6)
        self._tokens_per_second += (SMOOTHING if self._tokens_per_second else 1) * (speed - self._tokens_per_second)
        self._metrics.observe_batch(len(batch), tokens, seconds)
        for entry, result in zip(batch, results, strict=True):
            if entry.answer.done():
                continue
            if isinstance(result, RequestError):
                entry.answer.set_exception(result)
            else:
                entry.answer.set_result(result)


def _error(error: Exception) -> RequestError:
    """What the client gets: the message about its input, or of other errors only that the log has them."""
    if isinstance(error, ConfigError | DataError):
        return RequestError(str(error))
    logger.error("the model failed on an input: %s", type(error).__name__, exc_info=error)
    return ModelFailedError("the model failed on this input; the log of the server has the error")
