"""Several models' predictions → one, for every kind. Before: what each model gave. After: `runs.ensemble`.

"We average the model predictions" (ALBERT, section 4.9, of GLUE and RACE): the mean of their probabilities, and of
their scores where the answer is a number. Of questions about a text `squad_ensemble` averages the scores of spans.
A prediction belongs to an example, not to its tokens, so members may have different tokenizers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.encoded import Encoded
from litebert.tasks.ensembling.span_alignment import over_characters
from litebert.tasks.ensembling.span_averaging import average_scores
from litebert.tasks.task_type import Kind
from litebert.tasks.types.predictions import MULTI_LABEL_THRESHOLD, softmax
from litebert.tasks.types.span_evaluation import scores_with
from litebert.tasks.types.span_features import EncodedQuestions
from litebert.tasks.types.token_classification import TokenSequences

Outputs = Sequence[np.ndarray]
Predictions = Sequence[Any]
"""For each example: Float64 probabilities [C], a score [1], probabilities of each word [W, C], or `SpanScores`."""


@dataclass(frozen=True, slots=True)
class Averaging:
    """How predictions of one kind are found, averaged, and turned back into what one model gives."""

    predictions: Callable[[Outputs, Encoded], Predictions]
    average: Callable[[Sequence[Predictions]], Predictions]
    outputs: Callable[[Predictions, Encoded], Outputs] | None
    """As if one model had given them, for `KindRow.evaluate`; None for questions, which have their own way."""
    has_labels: bool
    """Whether the last axis are labels, which members may have in different orders."""


def mean(members: Sequence[Predictions]) -> list[np.ndarray]:
    """For each example the mean over the members.

    To the last bit it depends on no order, and the mean of equal predictions is that prediction.
    """
    if not members or len({len(member) for member in members}) > 1:
        found = ", ".join(str(len(member)) for member in members) or "no member"
        raise ConfigError(f"ensemble: members must answer the same examples; found {found}")
    return [_mean(np.sort(np.stack(given), axis=0)) for given in zip(*members, strict=True)]


def _mean(given: np.ndarray) -> np.ndarray:
    return given[0] + (given - given[0]).mean(axis=0)


def _probabilities(outputs: Outputs, encoded: Encoded) -> list[np.ndarray]:
    return [softmax(logits.astype(np.float64)) for logits in outputs]


def _logarithms(predictions: Predictions, encoded: Encoded) -> list[np.ndarray]:
    return [np.log(np.maximum(given, np.finfo(np.float64).tiny)) for given in predictions]


def _values(outputs: Outputs, encoded: Encoded) -> list[np.ndarray]:
    return [value.astype(np.float64) for value in outputs]


def _same(predictions: Predictions, encoded: Encoded) -> Outputs:
    return predictions


def _set_probabilities(outputs: Outputs, encoded: Encoded) -> list[np.ndarray]:
    return [np.exp(-np.logaddexp(0, -logits.astype(np.float64))) for logits in outputs]


def _set_logits(predictions: Predictions, encoded: Encoded) -> list[np.ndarray]:
    # Only the sign matters from here on, and 0 where the probability is the limit itself.
    return [given - MULTI_LABEL_THRESHOLD for given in predictions]


def _word_probabilities(outputs: Outputs, encoded: Encoded) -> list[np.ndarray]:
    assert isinstance(encoded, TokenSequences), encoded
    return [softmax(logits.astype(np.float64)) for logits in encoded.by_example(outputs)]


def _at_first_pieces(predictions: Predictions, encoded: Encoded) -> list[np.ndarray]:
    """The inverse of `TokenSequences.by_example`: the words of each sequence at their first pieces."""
    assert isinstance(encoded, TokenSequences), encoded
    words = list(_logarithms(predictions, encoded))
    outputs = []
    for part in encoded.parts:
        given, words[part.example] = np.split(words[part.example], [len(part.firsts)])
        output = np.zeros((len(part.feature.input_ids), given.shape[1]))
        output[part.firsts] = given
        outputs.append(output)
    return outputs


def _span_scores(*, beams: bool) -> Callable[[Outputs, Encoded], Predictions]:
    def predictions(outputs: Outputs, encoded: Encoded) -> Predictions:
        assert isinstance(encoded, EncodedQuestions), encoded
        scores = scores_with(encoded, outputs, beams=beams)
        return [over_characters(found, document) for found, document in zip(scores, encoded.documents, strict=True)]

    return predictions


_CHOSEN: Final = Averaging(_probabilities, mean, _logarithms, has_labels=True)
AVERAGING: Final[dict[Kind, Averaging]] = {
    "classification": _CHOSEN,
    "regression": Averaging(_values, mean, _same, has_labels=False),
    "multi_label": Averaging(_set_probabilities, mean, _set_logits, has_labels=True),
    "multiple_choice": Averaging(_probabilities, mean, _logarithms, has_labels=False),
    "tokens": Averaging(_word_probabilities, mean, _at_first_pieces, has_labels=True),
    "spans": Averaging(_span_scores(beams=False), average_scores, None, has_labels=False),
    "answerability": Averaging(_span_scores(beams=True), average_scores, None, has_labels=False),
}


def in_order_of(labels: Sequence[str], own: Sequence[str], predictions: Predictions) -> Predictions:
    """The predictions of a model with the labels `own` with their last axis in the order of `labels`."""
    if tuple(labels) == tuple(own):
        return predictions
    columns = [list(own).index(label) for label in labels]
    return [given[..., columns] for given in predictions]
