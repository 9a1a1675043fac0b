"""Predictions as users see them, from the outputs of a model as arrays, and the mean of several models' predictions.

"We average the model predictions" (ALBERT, section 4.9, of GLUE and RACE): the mean of their probabilities, or of
their scores in a regression. Predictions belong to examples, not tokens, so members may have different tokenizers.
Torch-free: shared by the task types and by `litebert.runtime`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from statistics import fmean
from typing import Any, ClassVar, Final

import numpy as np

from litebert.model.io.default_labels import numbers_of
from litebert.tasks.metrics.entities import all_have_prefixes, entities
from litebert.tokenization.normalize import Span

LETTERS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Names of the options of a multiple choice."""
SEPARATOR: Final = "|"
"""Between the labels of one text."""
PROBABILITIES: Final = "probabilities"
"""Column with the probability of every label."""
SUM_TOLERANCE: Final = 0.01
"""How far the sum of the probabilities of classes in a file may be from 1, for those that are rounded."""
PROBABILITY_OF: Final = "probability_"
"""Beginning of the columns of a table that hold the probability of one label each."""
MULTI_LABEL_THRESHOLD: Final = 0.5
"""Probability from which a label is predicted."""


class DecodedPrediction(ABC):
    """A prediction for users: label names instead of indices, text instead of positions."""

    __slots__ = ()
    columns: ClassVar[tuple[str, ...]]
    """The keys of `to_record`; `predict` needs them before the first prediction."""
    nested_columns: ClassVar[tuple[str, ...]] = ()
    """Those whose values are lists or objects, which CSV and TSV leave out."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The columns that `predict` adds to an input row; `prediction` is the first."""

    def to_table_row(self) -> dict[str, Any]:
        """`to_record` for CSV and TSV, without `nested_columns`."""
        return {name: value for name, value in self.to_record().items() if name not in self.nested_columns}

    @property
    def counts(self) -> dict[str, int]:
        """Numbers that `predict` adds up over all rows, such as entities."""
        return {}


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities of logits, along the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def class_probabilities(logits: np.ndarray, settings: Any, dtype: type[np.floating]) -> np.ndarray:
    """Probabilities of the classes, along the last axis, computed in `dtype`."""
    return softmax(logits.astype(dtype))


@dataclass(frozen=True, slots=True)
class Classification(DecodedPrediction):
    """The predicted label of one text."""

    columns = ("prediction", "probability", "probabilities")
    nested_columns = ("probabilities",)
    label: str
    probability: float
    probabilities: dict[str, float]
    """Of every label, in the order of the model."""

    def to_record(self) -> dict[str, Any]:
        """Label and probabilities."""
        return {"prediction": self.label, "probability": self.probability, "probabilities": self.probabilities}


def decode_class(probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: Any) -> Classification:
    """The most probable label."""
    by_label = dict(zip(labels, map(float, probabilities), strict=True))
    label = max(by_label, key=by_label.__getitem__)
    return Classification(label, by_label[label], by_label)


@dataclass(frozen=True, slots=True)
class Regression(DecodedPrediction):
    """The predicted score of one text."""

    columns = ("prediction",)
    value: float

    def to_record(self) -> dict[str, Any]:
        """The score."""
        return {"prediction": self.value}


def regression_score(logits: np.ndarray, settings: Any, dtype: type[np.floating]) -> np.ndarray:
    """The score, in `dtype`."""
    return logits.astype(dtype)


def decode_regression(score: np.ndarray, example: Any, labels: Sequence[str], settings: Any) -> Regression:
    """The score as a number."""
    return Regression(float(score[0]))


@dataclass(frozen=True, slots=True)
class MultiLabelPrediction(DecodedPrediction):
    """The predicted labels of one text, possibly none."""

    columns = ("prediction", "labels", "probabilities")
    nested_columns = ("labels", "probabilities")
    labels: tuple[str, ...]
    probabilities: dict[str, float]
    """Of every label, in the order of the model; they do not sum to one."""

    def to_record(self) -> dict[str, Any]:
        """Labels and probabilities."""
        return {
            "prediction": SEPARATOR.join(self.labels),
            "labels": list(self.labels),
            "probabilities": self.probabilities,
        }

    def to_table_row(self) -> dict[str, Any]:
        """Labels, and the probability of each label in a column of its own, such as `probability_loud`."""
        columns = {f"{PROBABILITY_OF}{name}": value for name, value in self.probabilities.items()}
        return {"prediction": SEPARATOR.join(self.labels), **columns}


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Independent probabilities of logits."""
    return np.exp(-np.logaddexp(0, -logits))


def logits_of(probabilities: np.ndarray) -> np.ndarray:
    """The inverse of `sigmoid`, in float64; finite also for 0 and 1."""
    inside = np.clip(probabilities.astype(np.float64), np.finfo(np.float32).tiny, 1 - np.finfo(np.float64).epsneg)
    return np.log(inside) - np.log1p(-inside)


def label_probabilities(logits: np.ndarray, settings: Any, dtype: type[np.floating]) -> np.ndarray:
    """Independent probabilities of the labels, float64 [C]."""
    in_double = logits.astype(np.float64)
    # The two differ in the last bit. Published predictions of single models and of ensembles have these bits.
    return 1 / (1 + np.exp(-in_double)) if dtype is np.float32 else sigmoid(in_double)


def decode_labels(
    probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: Any
) -> MultiLabelPrediction:
    """The labels whose probability reaches the threshold."""
    by_label = dict(zip(labels, probabilities.tolist(), strict=True))
    return MultiLabelPrediction(tuple(name for name in by_label if by_label[name] >= MULTI_LABEL_THRESHOLD), by_label)


@dataclass(frozen=True, slots=True)
class Choice(DecodedPrediction):
    """The best option."""

    columns = ("prediction", "probability", "probabilities")
    nested_columns = ("probabilities",)
    index: int
    """From 0."""
    probability: float
    probabilities: tuple[float, ...]

    @property
    def letter(self) -> str:
        """A for the first option."""
        return LETTERS[self.index]

    def to_record(self) -> dict[str, Any]:
        """Letter and probabilities."""
        return {
            "prediction": self.letter,
            "probability": self.probability,
            "probabilities": list(self.probabilities),
        }


def decode_choice(probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: Any) -> Choice:
    """The most probable option."""
    return Choice(int(probabilities.argmax()), float(probabilities.max()), tuple(probabilities.tolist()))


@dataclass(frozen=True, slots=True)
class Entity:
    """Words that the predicted labels mark as one entity: `sentence[start:end]` of a text or a list of words."""

    label: str
    text: str
    """The part of the text; the words of a list with spaces between them."""
    start: int
    """Its first character in the text; for a list of words the index of its first word."""
    end: int
    """The character after its last; for a list the index of the word after its last."""
    probability: float
    """The mean of the probabilities of the labels of its words (`TokenPrediction.probabilities`)."""


@dataclass(frozen=True, slots=True)
class TokenPrediction(DecodedPrediction):
    """A label for each word of a sentence."""

    columns = ("prediction", "labels", "entities", "probabilities", "word_spans")
    nested_columns = ("labels", "probabilities", "word_spans")
    labels: tuple[str, ...]
    entities: tuple[Entity, ...]
    """In the order of the text."""
    probabilities: tuple[float, ...]
    """Of the label of each word: the softmax at its first token."""
    word_spans: tuple[Span, ...]
    """Where each word is, as `start` and `end` of an entity."""

    def to_record(self) -> dict[str, Any]:
        """Labels, entities, and probability and position of each word."""
        return {
            "prediction": " ".join(self.labels),
            "labels": list(self.labels),
            "entities": [asdict(each) for each in self.entities],
            "probabilities": list(self.probabilities),
            "word_spans": list(map(list, self.word_spans)),
        }

    def to_table_row(self) -> dict[str, Any]:
        """Labels and entities as texts, such as `PER: Ada Lovelace; LOC: London`."""
        found = (f"{each.label}: {' '.join(each.text.split())}" for each in self.entities)
        return {"prediction": " ".join(self.labels), "entities": "; ".join(found)}

    @property
    def counts(self) -> dict[str, int]:
        """Words and entities."""
        return {"words": len(self.labels), "entities": len(self.entities)}


def decode_words(probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: Any) -> TokenPrediction:
    """The most probable label of each word, and the entities that these labels mark."""
    predicted = tuple(labels[index] for index in probabilities.argmax(-1))
    found = sorted(entities(predicted, letters=all_have_prefixes(labels)), key=lambda entity: entity[1])
    of_words, spans = tuple(probabilities.max(-1).tolist()), tuple(example.word_spans)
    marked = []
    for name, first, after in found:
        start, end = spans[first][0], spans[after - 1][1]
        marked.append(Entity(name, example.part(start, end), start, end, fmean(of_words[first:after])))
    return TokenPrediction(predicted, tuple(marked), of_words, spans)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token for a mask."""

    piece: str
    """The token in the vocabulary; `▁` marks the start of a word, in WordPiece vocabularies `##` every other token."""
    probability: float

    @property
    def word(self) -> str:
        """The token without the marker."""
        if len(self.piece) > 2 and self.piece.startswith("##"):
            return self.piece.removeprefix("##")
        return self.piece.replace("▁", " ").strip()


@dataclass(frozen=True, slots=True)
class FilledMasks(DecodedPrediction):
    """The candidates for every mask of a text."""

    columns = ("prediction", "probability", "masks")
    nested_columns = ("masks",)
    masks: tuple[tuple[Candidate, ...], ...]
    """Best first."""

    def to_record(self) -> dict[str, Any]:
        """The best words, their joint probability, and the candidates of every mask."""
        best = [candidates[0] for candidates in self.masks]
        return {
            "prediction": " ".join(candidate.word for candidate in best),
            "probability": prod(candidate.probability for candidate in best),
            "masks": [{candidate.piece: candidate.probability for candidate in each} for each in self.masks],
        }


def mean(members: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over the members, for one example.

    The order of the members does not change a bit of it, and the mean of equal predictions is that prediction.
    """
    ordered = np.sort(np.stack(members), axis=0)
    return ordered[0] + (ordered - ordered[0]).mean(axis=0)


def reorder_labels(prediction: np.ndarray, labels: Sequence[str], own: Sequence[str]) -> np.ndarray:
    """The prediction of a model with the labels `own`, its last axis in the order of `labels`.

    Labels without names (LABEL_0) may be numbers in the other.
    """
    labels, own = (numbers_of(each) or tuple(each) for each in (labels, own))
    if labels == own:
        return prediction
    return prediction[..., [list(own).index(label) for label in labels]]
