"""Questions and contexts → windows of token ids. Before: `squad_data`, a tokenizer. After: `batches`, `squad_answers`.

A context is split into pieces once for all its questions. Every question has a window, whatever its length.
Source: `convert_examples_to_features` of the original's squad_utils.py.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from litebert.tasks.features import Feature, Inputs, LabelledBatch, pad
from litebert.tasks.types.doc_stride import WindowPlan, plan_windows
from litebert.tasks.types.question_settings import QuestionSettings
from litebert.tasks.types.questions import Question
from litebert.tokenization.subwords import Span
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Document:
    """A context as pieces, each with the characters it stands for."""

    context: str
    ids: np.ndarray
    """Int32 [N]."""
    starts: np.ndarray
    """Int32 [N]: first character of each piece, never decreasing."""
    ends: np.ndarray
    """Int32 [N]: the character after each piece, never decreasing."""

    def pieces_of(self, span: Span) -> Span:
        """The fewest pieces that cover the characters of `span`."""
        first = int(np.searchsorted(self.ends, span[0], side="right"))
        stop = int(np.searchsorted(self.starts, span[1], side="left"))
        return min(first, stop), stop

    def characters_of(self, pieces: Span) -> Span:
        """The characters from the first to the last of `pieces`, white space at both ends left out."""
        if pieces[0] >= pieces[1]:
            return 0, 0
        start, end = int(self.starts[pieces[0]]), int(self.ends[pieces[1] - 1])
        text = self.context[start:end]
        start += len(text) - len(text.lstrip())
        return start, max(start, end - len(text) + len(text.rstrip()))


@dataclass(frozen=True, slots=True)
class Window:
    """`[CLS] question [SEP] pieces [SEP]`: a question with one part of its document."""

    question: int
    """Index of the question."""
    feature: Feature
    """What the model reads."""
    plan: WindowPlan
    """Which pieces of the document it holds."""
    first: int
    """Position of the document's piece 0 in the sequence, as if the window reached back to it; may be negative."""

    def positions_of(self, pieces: Span) -> tuple[int, int] | None:
        """First and last position of `pieces` in the sequence; None unless the window holds them all."""
        inside = self.plan.pieces[0] <= pieces[0] < pieces[1] <= self.plan.pieces[1]
        return (pieces[0] + self.first, pieces[1] - 1 + self.first) if inside else None


class EncodedQuestions:
    """The windows of all questions, in their order; what one epoch counts are the questions, as in the original."""

    def __init__(self, questions: Sequence[Question], tokenizer: Tokenizer, settings: QuestionSettings) -> None:
        self.questions = questions
        self.settings = settings
        self._pad_id = tokenizer.pad_id
        contexts = list(dict.fromkeys(question.context for question in questions))
        encoded = tokenizer.encode_batch_with_offsets(contexts)
        by_context = {context: _document(context, *pair) for context, pair in zip(contexts, encoded, strict=True)}
        self.documents = [by_context[question.context] for question in questions]
        """The document of each question."""
        kept = min(settings.max_query_length, settings.max_length // 2)
        queries = (ids[:kept] for ids in tokenizer.encode_batch([question.text for question in questions]))
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
        """Questions: steps are counted in them. Source: `num_train_steps` of run_squad_v1.py and run_squad_v2.py."""
        return len(self.questions)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [W]: tokens of each window."""
        return np.array([len(window.feature.input_ids) for window in self.windows], dtype=np.int64)

    @cached_property
    def labels(self) -> np.ndarray:
        """Int64 [W, 3]: first and last position of the answer, and 1 where the window does not hold it whole.

        Of several answers the first is the label. A window without it points at `[CLS]`.
        """
        answers = [
            document.pieces_of(question.answers[0].span) if question.answers else None
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
        """Some windows, padded."""
        return pad([self.windows[index].feature for index in indices], pad_id=self._pad_id)

    def batch(self, indices: Sequence[int] | np.ndarray) -> LabelledBatch:
        """Some windows with their labels."""
        chosen = np.asarray(indices, dtype=np.int64)
        labels = torch.from_numpy(self.labels[chosen])
        return LabelledBatch(self.inputs(chosen), labels, num_tokens=int(self.lengths[chosen].sum()))


def windows_of(
    question: int, query: Sequence[int], document: np.ndarray, tokenizer: Tokenizer, settings: QuestionSettings
) -> list[Window]:
    """The windows of one question, whose pieces are `query`, over the pieces `document`."""
    head = np.array([tokenizer.cls_id, *query, tokenizer.sep_id], np.int32)
    tail = np.array([tokenizer.sep_id], np.int32)
    plans = plan_windows(len(document), room=settings.max_length - len(head) - 1, stride=settings.stride)
    windows = []
    for plan in plans:
        start, stop = plan.pieces
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
