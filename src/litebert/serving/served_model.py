"""One model of the server with its queue."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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

MAX_REQUEST_TOKENS: Final = 131_072
"""In all texts of a request, unless one text may have more: a response with every token has some ten megabytes."""

CHARACTERS_PER_TOKEN: Final = 100
"""Twenty times those of a language: a text with more than this for each token is refused before it is tokenized."""

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

    async def tokenize(self, texts: Sequence[str], *, add_special_tokens: bool) -> bytes:
        """JSON of the tokens of each text, as `schemas.TokenInText`; objects of that class would be many."""
        inputs = [OperationInput(text, [(text,)]) for text in texts]
        return await self._in_thread_if_long(inputs, lambda: json_list(self._tokens(texts, add_special_tokens)))

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
        limit = self._max_tokens(operation)
        distinct = list(dict.fromkeys(text for each in inputs for texts in each.sequences for text in texts))
        if not truncate:
            _check_characters(distinct, limit, advice)
        counts = dict(zip(distinct, map(len, self.loaded.tokenizer.encode_batch(distinct)), strict=True))
        totals = []
        for each in inputs:
            parts = [[counts[text] for text in texts] for texts in each.sequences]
            lengths = [sum(part) + len(part) + 1 for part in parts]
            if not truncate:
                _check_length(max(lengths), limit, advice)
                _check_length(max(part[-1] for part in parts), each.max_last_tokens or limit, advice)
            # `predict` answers an empty row, so that it does not end the work on a file; a request can be corrected.
            if not (operation.method in READ_IN_WINDOWS or operation.fills_masks or any(map(sum, parts))):
                raise RequestError("a text has no tokens; remove it")
            totals.append(sum(min(length, limit) for length in lengths))
        _check_total(sum(totals), limit)
        return totals

    def _max_tokens(self, operation: Operation) -> int:
        """Tokens of a text, beyond which it is an error or truncated."""
        if self.loaded.reads_windows(operation):
            return self._settings.max_tokens_per_text
        return self.loaded.max_position_embeddings if operation.method == "embed" else self.loaded.max_length

    def _tokens(self, texts: Sequence[str], add_special_tokens: bool) -> Iterator[list[dict[str, Any]]]:
        """The tokens of each text with their positions; TooLargeError beyond the limits."""
        tokenizer, limit = self.loaded.tokenizer, self._settings.max_tokens_per_text
        _check_characters(texts, limit)
        lengths = list(map(len, tokenizer.encode_batch(list(texts))))  # much faster than with positions
        _check_length(max(lengths), limit)
        _check_total(sum(lengths), limit)
        for ids, spans in tokenizer.encode_batch_with_offsets(texts):
            tokens: list[tuple[int, Any]] = list(zip(ids, spans, strict=True))
            if add_special_tokens:
                tokens = [(tokenizer.cls_id, None), *tokens, (tokenizer.sep_id, None)]
            yield [_token(index, tokenizer.id_to_piece(index), span) for index, span in tokens]


def _check_length(tokens: int, limit: int, advice: str = "") -> None:
    if tokens > limit:
        raise TooLargeError(f"a text has {tokens} tokens, the limit is {limit}; shorten it{advice}")


def _check_characters(texts: Sequence[str], limit: int, advice: str = "") -> None:
    """Raise TooLargeError for a text that is far too long, which would only take time to tokenize."""
    if (longest := max(map(len, texts))) > CHARACTERS_PER_TOKEN * limit:
        raise TooLargeError(f"a text has {longest} characters, the limit is {limit} tokens; shorten it{advice}")


def _check_total(tokens: int, limit: int) -> None:
    if tokens > (most := max(limit, MAX_REQUEST_TOKENS)):
        raise TooLargeError(f"{tokens} tokens, the limit of one request is {most}; send several requests")


def _token(index: int, piece: str, span: Any) -> dict[str, Any]:
    """The fields of `schemas.TokenInText`."""
    start, stop = (None, None) if span is None else (int(span[0]), int(span[1]))
    return {"id": index, "text": piece, "special": span is None, "start": start, "stop": stop}


def json_list(values: Iterable[Any]) -> bytes:
    """A list as JSON, encoded one value after another: other threads wait for the longest one only."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    return f"[{','.join(map(encode, values))}]".encode()


def _entry_times(entries: Sequence[Entry]) -> dict[str, str]:
    return {
        "x-queue-time": _milliseconds(max(entry.started_at - entry.queued_at for entry in entries)),
        "x-inference-time": _milliseconds(sum({entry.finished_at - entry.started_at for entry in entries})),
    }


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"
