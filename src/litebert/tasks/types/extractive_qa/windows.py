"""Questions and contexts → overlapping windows of token ids.

A context is tokenized once for all its questions. Every question has a window, whatever its length.
Source: `convert_examples_to_features` and `_check_is_max_context` in squad_utils.py of google-research/albert.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from litebert.tasks.encoded import Encoded, Feature
from litebert.tasks.questions import Question
from litebert.tokenization.normalize import Span
from litebert.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings


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

    def characters_of(self, tokens: np.ndarray) -> np.ndarray:
        """Spans of characters, without white space at both ends, of half-open spans of tokens [N, 2]."""
        starts, ends = self.starts[tokens[:, 0]], self.ends[tokens[:, 1] - 1]
        next_text, text_before = _text_limits(self.context)
        # A span of tokens has no text only where the tokenizer dropped all its characters.
        first = next_text[starts]
        return np.stack([first, np.maximum(first, text_before[ends])], axis=1)


@lru_cache(maxsize=64)  # consecutive questions have the same context
def _text_limits(context: str) -> tuple[np.ndarray, np.ndarray]:
    """For each position the next that is no white space, and the end of the text before it."""
    is_text = np.array([not character.isspace() for character in context], dtype=bool)
    positions = np.arange(len(context))
    next_text = np.minimum.accumulate(np.where(is_text, positions, len(context))[::-1])[::-1]
    text_before = np.maximum.accumulate(np.where(is_text, positions + 1, 0))
    return np.append(next_text, len(context)).astype(np.int64), np.append(0, text_before).astype(np.int64)


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


@dataclass(frozen=True)
class EncodedQuestions(Encoded):
    """One or more windows for each question.

    The target of a window is the first and last position of the question's first answer, and 0; or (0, 0, 1) where
    the window lacks a part of it, 0 being the position of `[CLS]`.
    """

    windows: Sequence[Window]
    documents: Sequence[Document]
    """The document of each question."""

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64: tokens of each question's context.

        An epoch counts questions. Source: `num_train_steps` in run_squad_v1.py and run_squad_v2.py.
        """
        return np.array([len(document.ids) for document in self.documents])

    def by_example(self, outputs: Sequence[Any]) -> list[QuestionOutputs]:
        """The outputs of each question's windows."""
        grouped = [QuestionOutputs(document, [], []) for document in self.documents]
        for window, output in zip(self.windows, outputs, strict=True):
            grouped[window.question].windows.append(window)
            grouped[window.question].outputs.append(output)
        return grouped


def encode_questions(
    questions: Sequence[Question], tokenizer: Tokenizer, settings: QuestionSettings
) -> EncodedQuestions:
    """The windows of all questions; each context is tokenized once."""
    contexts = list(dict.fromkeys(question.context for question in questions))
    encoded = tokenizer.encode_batch_with_offsets(contexts)
    by_context = {context: _document(context, *pair) for context, pair in zip(contexts, encoded, strict=True)}
    documents = [by_context[question.context] for question in questions]
    limit = min(settings.max_query_length, settings.max_length // 2)
    queries = (ids[:limit] for ids in tokenizer.encode_batch([question.text for question in questions]))
    windows = [
        window
        for index, (query, document) in enumerate(zip(queries, documents, strict=True))
        for window in windows_of(index, query, document.ids, tokenizer, settings)
    ]
    answers = [
        document.tokens_of(question.answers[0].span) if question.answers else None
        for question, document in zip(questions, documents, strict=True)
    ]
    targets = [_target(window, answers[window.question]) for window in windows]
    return EncodedQuestions([window.feature for window in windows], targets, tokenizer.pad_id, windows, documents)


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


def _target(window: Window, answer: Span | None) -> tuple[int, int, int]:
    positions = None if answer is None else window.positions_of(answer)
    return (0, 0, 1) if positions is None else (*positions, 0)
