"""One model of the server with its queue."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from litebert.serving.http.http_errors import RequestError, TooLargeError
from litebert.serving.loaded_model import LoadedModel
from litebert.serving.micro_batcher import Entry, MicroBatcher
from litebert.serving.model_operations import READ_IN_WINDOWS, Operation, OperationInput
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.server_metrics import ModelMetrics

INLINE_CHARACTERS: Final = 4096
"""Longer requests are tokenized in a thread, so that others are not kept waiting."""

CLOSING_INTERVAL: Final = 0.01
"""Seconds between two looks whether every request has its answer."""


class ServedModel:
    """Answers requests with a loaded model."""

    def __init__(self, name: str, loaded: LoadedModel, settings: ServeSettings, metrics: ModelMetrics) -> None:
        self.name = name
        self.loaded = loaded
        self.loaded_at = datetime.now(UTC).isoformat(timespec="seconds")
        self._settings = settings
        self._batcher = MicroBatcher(lambda operation, batch: operation(loaded.predictor, batch), settings, metrics)
        self._requests = 0

    @property
    def is_full(self) -> bool:
        """Whether the queue takes no more."""
        return self._batcher.is_full

    def check_capacity(self) -> None:
        """Raise OverloadedError if the queue is full."""
        self._batcher.check_capacity()

    async def answer(
        self,
        operation: Operation,
        inputs: Sequence[OperationInput],
        *,
        truncate: bool | None = None,
        can_truncate: bool = True,
        headers: Any,
    ) -> list[Any]:
        """The result for each input; writes tokens and times in milliseconds into `headers`.

        `can_truncate`: whether requests of the route have a field `truncate`, which the error for a long text advises.

        Raises TooLargeError for an input with too many tokens, OverloadedError for a full queue.
        """
        self.check_capacity()
        self._requests += 1
        can_truncate = can_truncate and not (self.loaded.reads_windows(operation) or operation.fills_masks)
        advice = ', or set "truncate"' if can_truncate else ""
        try:
            return await self._answer(operation, inputs, bool(truncate and can_truncate), advice, headers)
        finally:
            self._requests -= 1

    async def _answer(
        self, operation: Operation, inputs: Sequence[OperationInput], truncate: bool, advice: str, headers: Any
    ) -> list[Any]:
        started = time.monotonic()
        tokens = await self._in_thread_if_long(inputs, lambda: self._count_tokens(operation, inputs, truncate, advice))
        tokenized = time.monotonic()
        examples = [(each.example, count) for each, count in zip(inputs, tokens, strict=True)]
        entries = await self._batcher.submit(operation, examples)
        headers["x-compute-tokens"] = str(sum(tokens))
        headers["x-tokenization-time"] = _milliseconds(tokenized - started)
        headers |= _entry_times(entries)
        return [entry.answer.result() for entry in entries]

    async def tokenize(self, texts: Sequence[str], *, add_special_tokens: bool) -> list[list[tuple[int, str, Any]]]:
        """(id, piece, span or None for special tokens) of each token of each text."""
        inputs = [OperationInput(text, [(text,)]) for text in texts]
        return await self._in_thread_if_long(inputs, lambda: self._tokens(texts, add_special_tokens))

    async def close(self) -> None:
        """Finish the requests that were accepted, then stop."""
        while self._requests:
            await asyncio.sleep(CLOSING_INTERVAL)
        await self._batcher.close()

    async def _in_thread_if_long(self, inputs: Sequence[OperationInput], call: Callable[[], Any]) -> Any:
        characters = sum(len(text) for each in inputs for sequence in each.sequences for text in sequence)
        return await asyncio.to_thread(call) if characters > INLINE_CHARACTERS else call()

    def _count_tokens(
        self, operation: Operation, inputs: Sequence[OperationInput], truncate: bool, advice: str
    ) -> list[int]:
        """Tokens of each input, once even if it is read in windows that overlap; TooLargeError beyond the limit."""
        sequences = [sequence for each in inputs for sequence in each.sequences]
        counts = iter(map(len, self.loaded.tokenizer.encode_batch([text for texts in sequences for text in texts])))
        limit = self._max_tokens(operation)
        totals = []
        for each in inputs:
            parts = [[next(counts) for _ in texts] for texts in each.sequences]
            lengths = [sum(part) + len(part) + 1 for part in parts]
            if not truncate:
                _check_length(max(lengths), limit, advice)
                _check_length(max(part[-1] for part in parts), each.max_last_tokens or limit, advice)
            # `predict` answers an empty row, so that it does not end the work on a file; a request can be corrected.
            if not (operation.method in READ_IN_WINDOWS or operation.fills_masks or any(map(sum, parts))):
                raise RequestError("a text has no tokens; remove it")
            totals.append(sum(min(length, limit) for length in lengths))
        return totals

    def _max_tokens(self, operation: Operation) -> int:
        """Tokens of a text, beyond which it is an error or truncated."""
        if self.loaded.reads_windows(operation):
            return self._settings.max_tokens_per_text
        return self.loaded.max_position_embeddings if operation.method == "embed" else self.loaded.max_length

    def _tokens(self, texts: Sequence[str], add_special_tokens: bool) -> list[list[tuple[int, str, Any]]]:
        tokenizer, limit = self.loaded.tokenizer, self._settings.max_tokens_per_text
        _check_length(max(map(len, tokenizer.encode_batch(list(texts)))), limit)  # much faster than with positions
        found = []
        for ids, spans in tokenizer.encode_batch_with_offsets(texts):
            tokens = [(index, span) for index, span in zip(ids, spans, strict=True)]
            if add_special_tokens:
                tokens = [(tokenizer.cls_id, None), *tokens, (tokenizer.sep_id, None)]
            found.append([(index, tokenizer.id_to_piece(index), span) for index, span in tokens])
        return found


def _check_length(tokens: int, limit: int, advice: str = "") -> None:
    if tokens > limit:
        raise TooLargeError(f"a text has {tokens} tokens, the limit is {limit}; shorten it{advice}")


def _entry_times(entries: Sequence[Entry]) -> dict[str, str]:
    return {
        "x-queue-time": _milliseconds(max(entry.started_at - entry.queued_at for entry in entries)),
        "x-inference-time": _milliseconds(sum({entry.finished_at - entry.started_at for entry in entries})),
    }


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"
