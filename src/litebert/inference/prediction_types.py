"""What a predictor answers, one class for each way. Before: logits. After: `predictor`, your program."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from litebert.tasks.labelled_data import LETTERS
from litebert.tasks.metrics.entities import entities
from litebert.tasks.types.predictions import MULTI_LABEL_THRESHOLD
from litebert.tasks.types.span_answers import QuestionAnswers, SpanAnswer


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to fill a mask."""

    piece: str
    """The piece of the vocabulary; `▁` marks the beginning of a word."""
    probability: float

    @property
    def word(self) -> str:
        """The piece as a person writes it."""
        return self.piece.replace("▁", " ").strip()


@dataclass(frozen=True, slots=True)
class Classification:
    """The answer of a classifier for one text."""

    label: str
    probability: float
    probabilities: dict[str, float]
    """Of every label, in the order of the model."""

    @classmethod
    def of(cls, probabilities: Sequence[float], labels: Sequence[str]) -> "Classification":
        """The likeliest label."""
        named = dict(zip(labels, map(float, probabilities), strict=True))
        label = max(named, key=named.__getitem__)
        return cls(label, named[label], named)


@dataclass(frozen=True, slots=True)
class MultiLabelPrediction:
    """The labels that a text has, of several that it may have."""

    labels: tuple[str, ...]
    probabilities: dict[str, float]
    """Of every label, in the order of the model; they do not sum to one."""

    @classmethod
    def of(cls, logits: np.ndarray, labels: Sequence[str]) -> "MultiLabelPrediction":
        """The labels at least as likely as not."""
        named = dict(zip(labels, (1 / (1 + np.exp(-logits.astype(np.float64)))).tolist(), strict=True))
        return cls(tuple(name for name, probability in named.items() if probability >= MULTI_LABEL_THRESHOLD), named)


@dataclass(frozen=True, slots=True)
class Choice:
    """The best of some options."""

    index: int
    """From 0."""
    probability: float
    probabilities: tuple[float, ...]

    @property
    def letter(self) -> str:
        """A for the first."""
        return LETTERS[self.index]


@dataclass(frozen=True, slots=True)
class Answer:
    """The words of a text that answer a question."""

    text: str
    """Empty where the text has no answer."""
    start: int
    """Its first character in the text."""
    end: int
    """The character after its last."""
    probability: float
    """Among `candidates`; 0 where there is no answer."""
    no_answer_probability: float | None
    """None from a model that always answers."""
    candidates: tuple[SpanAnswer, ...]
    """The best spans, best first, whether or not the text has an answer."""

    @classmethod
    def of(cls, found: QuestionAnswers, *, threshold: float) -> "Answer":
        """The best span, unless the model is surer than `threshold` that there is none."""
        doubt = None if found.null_score is None else float(np.exp(-np.logaddexp(0, -found.null_score)))
        candidates = tuple(each for each in found.best if each.text)
        if not found.has_answer(threshold):
            return cls("", 0, 0, 0.0, doubt, candidates)
        best = candidates[0]
        return cls(best.text, best.start, best.end, best.probability, doubt, candidates)


@dataclass(frozen=True, slots=True)
class Entity:
    """Words that the tags mark together."""

    label: str
    text: str
    start: int
    """Index of its first word."""
    end: int
    """Index of the word after its last."""


@dataclass(frozen=True, slots=True)
class TokenPrediction:
    """A tag for each word of a sentence."""

    tags: tuple[str, ...]
    entities: tuple[Entity, ...]

    @classmethod
    def of(cls, words: Sequence[str], logits: np.ndarray, labels: Sequence[str]) -> "TokenPrediction":
        """The likeliest tag of each word, from its logits [W, C]."""
        tags = tuple(labels[index] for index in logits.argmax(-1))
        found = sorted(entities(tags), key=lambda entity: entity[1])
        return cls(tags, tuple(Entity(name, " ".join(words[start:end]), start, end) for name, start, end in found))
