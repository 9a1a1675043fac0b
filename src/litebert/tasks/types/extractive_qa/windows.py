"""Questions and contexts → overlapping windows of token ids.

A context is tokenized once for all its questions. Every question has a window, whatever its length.
Source: `convert_examples_to_features` and `_check_is_max_context` in squad_utils.py of google-research/albert.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from litebert.tasks.encoded import Feature, Inputs, LabelledBatch, pad
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.questions import Question
from litebert.tokenization.normalize import Span
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """One window over a document."""

    tokens: Span
    """Half-open span of the document's tokens."""
    max_context: Span
    """Half-open span of the tokens for which no other window has more context; inside `tokens`."""


@lru_cache(maxsize=65536)
def plan_windows(length: int, *, budget: int, stride: int) -> tuple[WindowPlan, ...]:
    """Windows of at most `budget` tokens over a document of `length` tokens, `stride` tokens apart.

    An empty document has one empty window, so that every question has a prediction.
    """
    spans = [(0, min(length, budget))]
    while spans[-1][1] < length:
        start = spans[-1][0] + min(budget, stride)
        spans.append((start, min(length, start + budget)))
    return tuple(map(WindowPlan, spans, _max_context(spans)))


def _max_context(spans: list[Span]) -> list[Span]:
    """For each window the tokens for which it has the most context on the shorter side; longer windows win ties.

    These tokens are contiguous, because the difference between two windows changes sign once.
    """
    if len(spans) == 1:
        return spans
    starts, stops = np.array(spans).T[..., None]
    tokens = np.arange(stops.max())
    scores = np.minimum(tokens - starts, stops - 1 - tokens) + 0.01 * (stops - starts)
    inside = (starts <= tokens) & (tokens < stops)
    best = np.where(inside, scores, -np.inf).argmax(0)
    edges = np.searchsorted(best, np.arange(len(spans) + 1))
    return [(int(first), int(stop)) for first, stop in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Document:
    """A context as tokens, with the characters of each."""

    context: str
    ids: np.ndarray
    """Int32 [N]."""
    starts: np.ndarray
    """Int32 [N]: first character of each token, non-decreasing."""
    ends: np.ndarray
    """Int32 [N]: the character after each token, non-decreasing."""

    def tokens_of(self, span: Span) -> Span:
        """The fewest tokens that cover the characters of `span`."""
        first = int(np.searchsorted(self.ends, span[0], side="right"))
        stop = int(np.searchsorted(self.starts, span[1], side="left"))
        return min(first, stop), stop

    def characters_of(self, tokens: Span) -> Span:
        """The characters of half-open `tokens`, without white space at both ends."""
        if tokens[0] >= tokens[1]:
            return 0, 0
        start, end = int(self.starts[tokens[0]]), int(self.ends[tokens[1] - 1])
        text = self.context[start:end]
        start += len(text) - len(text.lstrip())
        return start, max(start, end - len(text) + len(text.rstrip()))


@dataclass(frozen=True, slots=True)
class Window:
    """`[CLS] question [SEP] tokens [SEP]`: a question with one part of its document."""

    question: int
    """Index of the question."""
    feature: Feature
    plan: WindowPlan
    """The document's tokens in it."""
    offset: int
    """Position in the sequence minus index in the document, of any token; may be negative."""

    def positions_of(self, tokens: Span) -> tuple[int, int] | None:
        """First and last position of `tokens` in the sequence; None unless the window has all of them."""
        inside = self.plan.tokens[0] <= tokens[0] < tokens[1] <= self.plan.tokens[1]
        return (tokens[0] + self.offset, tokens[1] - 1 + self.offset) if inside else None


@dataclass(frozen=True, slots=True)
class QuestionOutputs:
    """The model's outputs for all windows of one question."""

    document: Document
    windows: list[Window]
    outputs: list[Any]


class EncodedQuestions:
    """The `Encoded` of extractive QA: one or more windows for each question."""

    def __init__(self, questions: Sequence[Question], tokenizer: Tokenizer, settings: QuestionSettings) -> None:
        self.questions = questions
        self.settings = settings
        self._pad_id = tokenizer.pad_id
        contexts = list(dict.fromkeys(question.context for question in questions))
        encoded = tokenizer.encode_batch_with_offsets(contexts)
        by_context = {context: _document(context, *pair) for context, pair in zip(contexts, encoded, strict=True)}
        self.documents = [by_context[question.context] for question in questions]
        """The document of each question."""
        limit = min(settings.max_query_length, settings.max_length // 2)
        queries = (ids[:limit] for ids in tokenizer.encode_batch([question.text for question in questions]))
        self.windows = [
            window
            for index, (query, document) in enumerate(zip(queries, self.documents, strict=True))
            for window in windows_of(index, query, document.ids, tokenizer, settings)
        ]

    def __len__(self) -> int:
        """Windows."""
        return len(self.windows)

    @property
    def num_examples(self) -> int:
        """Questions, which an epoch counts. Source: `num_train_steps` in run_squad_v1.py and run_squad_v2.py."""
        return len(self.questions)

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64: tokens of each question's context."""
        return np.array([len(document.ids) for document in self.documents])

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [W]: tokens of each window."""
        return np.array([len(window.feature.input_ids) for window in self.windows], dtype=np.int64)

    @cached_property
    def labels(self) -> np.ndarray:
        """Int64 [W, 3]: first and last position of the first answer, and 1 where the window lacks a part of it.

        The positions are then 0, that of `[CLS]`.
        """
        answers = [
            document.tokens_of(question.answers[0].span) if question.answers else None
            for question, document in zip(self.questions, self.documents, strict=True)
        ]
        return np.array([_label(window, answers[window.question]) for window in self.windows], dtype=np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of every window and its label."""
        digest = hashlib.sha256(np.ascontiguousarray(self.labels).tobytes() + self.lengths.tobytes())
        for window in self.windows:
            digest.update(window.feature.input_ids.tobytes())
            digest.update(window.feature.token_type_ids.tobytes())
        return digest.hexdigest()

    def inputs(self, indices: Sequence[int] | np.ndarray) -> Inputs:
        """The windows at `indices`, padded."""
        return pad([self.windows[index].feature for index in indices], pad_id=self._pad_id)

    def batch(self, indices: Sequence[int] | np.ndarray) -> LabelledBatch:
        """The windows at `indices` with their labels."""
        chosen = np.asarray(indices, dtype=np.int64)
        labels = torch.from_numpy(self.labels[chosen])
        return LabelledBatch(self.inputs(chosen), labels, num_tokens=int(self.lengths[chosen].sum()))

    def by_example(self, outputs: Sequence[Any]) -> list[QuestionOutputs]:
        """The outputs of each question's windows."""
        grouped = [QuestionOutputs(document, [], []) for document in self.documents]
        for window, output in zip(self.windows, outputs, strict=True):
            grouped[window.question].windows.append(window)
            grouped[window.question].outputs.append(output)
        return grouped


def windows_of(
    question: int, query: Sequence[int], document: np.ndarray, tokenizer: Tokenizer, settings: QuestionSettings
) -> list[Window]:
    """The windows of one question with the token ids `query` over a document with the token ids `document`."""
    head = np.array([tokenizer.cls_id, *query, tokenizer.sep_id], np.int32)
    tail = np.array([tokenizer.sep_id], np.int32)
    plans = plan_windows(len(document), budget=settings.max_length - len(head) - 1, stride=settings.doc_stride)
    windows = []
    for plan in plans:
        start, stop = plan.tokens
        input_ids = np.concatenate((head, document[start:stop], tail))
        token_type_ids = np.ones(len(input_ids), np.int8)
        token_type_ids[: len(head)] = 0
        windows.append(Window(question, Feature(input_ids, token_type_ids), plan, len(head) - start))
    return windows


def _document(context: str, ids: Sequence[int], offsets: Sequence[Span]) -> Document:
    edges = np.array(offsets, dtype=np.int32).reshape(-1, 2)
    return Document(context, np.array(ids, np.int32), edges[:, 0], edges[:, 1])


def _label(window: Window, answer: Span | None) -> tuple[int, int, int]:
    positions = None if answer is None else window.positions_of(answer)
    return (0, 0, 1) if positions is None else (*positions, 0)
