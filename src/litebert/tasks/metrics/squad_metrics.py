"""Exact match and F1 of answers, equal to the official SQuAD scripts to the last digit, and the no-answer threshold.

Source: the evaluation scripts of SQuAD 1.1 and 2.0. Sums run in the order of the file, without compensation. A question
is predicted unanswerable when its null score is greater than the threshold; google-research/albert uses "greater or
equal", which rejects the very question the threshold was read from.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

from litebert.errors import DataError
from litebert.tasks.questions import GoldAnswer, Question

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower-cased, without ASCII punctuation and English articles, words joined by single spaces."""
    bare = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(prediction: str, gold: str) -> int:
    """1 if both are equal after normalization, else 0."""
    return int(normalize_answer(prediction) == normalize_answer(gold))


def word_f1(prediction: str, gold: str) -> float:
    """Harmonic mean of precision and recall of the words; 1 for two texts without words, as in SQuAD 2.0.

    SQuAD 1.1 gives these 0, as `score_answerable` does.
    """
    found, expected = normalize_answer(prediction).split(), normalize_answer(gold).split()
    if not found or not expected:
        return float(found == expected)
    return _f1(found, expected)


def _f1(found: list[str], expected: list[str]) -> float:
    same = (Counter(found) & Counter(expected)).total()
    if not same:
        return 0.0
    precision, recall = same / len(found), same / len(expected)
    return 2 * precision * recall / (precision + recall)


@dataclass(frozen=True, slots=True)
class QuestionScores:
    """Scores of each question by its id, in the order of the file."""

    exact: dict[str, float]
    f1: dict[str, float]


def score_answerable(questions: Sequence[Question], predictions: Mapping[str, str]) -> QuestionScores:
    """SQuAD 1.1: the best score over a question's answers; 0 without a prediction."""
    scores = QuestionScores({}, {})
    for question in questions:
        golds = [answer.text for answer in question.answers]
        prediction = predictions.get(question.id)
        missing = prediction is None
        scores.exact[question.id] = 0 if missing else max(exact_match(prediction, gold) for gold in golds)
        words = normalize_answer(prediction or "").split()
        scores.f1[question.id] = 0.0 if missing else max(_f1(words, normalize_answer(gold).split()) for gold in golds)
    return scores


def score_with_unanswerable(questions: Sequence[Question], predictions: Mapping[str, str]) -> QuestionScores:
    """SQuAD 2.0: "" is correct where there is no answer; DataError if a prediction is missing."""
    missing = [question.id for question in questions if question.id not in predictions]
    if missing:
        raise DataError(
            f"predictions: {len(missing)} of {len(questions)} questions have no prediction, such as {missing[0]!r}; "
            "predict every question, '' where there is no answer"
        )
    scores = QuestionScores({}, {})
    for question in questions:
        golds = [answer.text for answer in _with_words(question)] or [""]
        prediction = predictions[question.id]
        scores.exact[question.id] = max(exact_match(prediction, gold) for gold in golds)
        scores.f1[question.id] = max(word_f1(prediction, gold) for gold in golds)
    return scores


def as_scored(questions: Sequence[Question]) -> list[Question]:
    """The questions without answers that SQuAD 2.0 does not score, if any question is unanswerable.

    Then every part of them, such as the answerable ones, has the scores that it has among all.
    """
    if all(question.answers for question in questions):
        return list(questions)
    return [replace(each, answers=_with_words(each)) for each in questions]


def _with_words(question: Question) -> tuple[GoldAnswer, ...]:
    """The answers that have words after normalization."""
    return tuple(answer for answer in question.answers if normalize_answer(answer.text))


def answer_f1(predictions: Sequence[str], questions: Sequence[Question]) -> float:
    """Mean F1 in percent; questions are scored as SQuAD 2.0 if any is unanswerable, else as 1.1."""
    return percent(_scores(predictions, questions).f1.values())


def answer_exact_match(predictions: Sequence[str], questions: Sequence[Question]) -> float:
    """Share of exact matches in percent, as `answer_f1`."""
    return percent(_scores(predictions, questions).exact.values())


def _scores(predictions: Sequence[str], questions: Sequence[Question]) -> QuestionScores:
    by_id = {question.id: text for question, text in zip(questions, predictions, strict=True)}
    if all(question.answers for question in questions):
        return score_answerable(questions, by_id)
    return score_with_unanswerable(questions, by_id)


def percent(scores: Iterable[float]) -> float:
    """100 times the mean; added one by one, since `sum` of newer Pythons rounds differently."""
    values = list(scores)
    return 100.0 * reduce(add, values) / len(values)


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The threshold with the best score, and that score in percent."""

    score: float
    threshold: float
    """That of the official script: the null score of the last answered question."""
    midpoint: float
    """Halfway to the next null score, where rounding does not change a decision. It has the same score, unless null
    scores are tied: the official script counts the questions of a tie one by one, but a threshold answers all of them
    or none, so it is then the best between two different null scores."""


@dataclass(frozen=True, slots=True)
class BestThresholds:
    """The best thresholds for exact match and for F1."""

    exact: BestThreshold
    f1: BestThreshold

    def to_dict(self) -> dict[str, float]:
        """Under the names of the official script."""
        return {
            "best_exact": self.exact.score,
            "best_exact_thresh": self.exact.threshold,
            "best_f1": self.f1.score,
            "best_f1_thresh": self.f1.threshold,
        }


def best_thresholds(
    questions: Sequence[Question], predictions: Mapping[str, str], null_scores: Mapping[str, float]
) -> BestThresholds:
    """Chosen on `questions`; `predictions` are the best spans, whatever the null scores.

    Null scores are logits, or probabilities in [0, 1].
    """
    scores = score_with_unanswerable(questions, predictions)
    answerable = {question.id: bool(question.answers) for question in questions}
    return BestThresholds(
        exact=_best(scores.exact, predictions, null_scores, answerable),
        f1=_best(scores.f1, predictions, null_scores, answerable),
    )


def _best(
    scores: Mapping[str, float],
    predictions: Mapping[str, str],
    null_scores: Mapping[str, float],
    answerable: Mapping[str, bool],
) -> BestThreshold:
    """Answer one more question at a time, by increasing null score, and take the highest sum."""
    order = sorted(scores, key=null_scores.__getitem__)
    total: float = sum(not each for each in answerable.values())
    # No question answered: 0 for probabilities, as in the official script; logits may be negative.
    lowest = null_scores[order[0]]
    best, threshold = total, 0.0 if lowest >= 0 else lowest - 1.0
    reachable, below = best, threshold
    for name, following in zip(order, [*order[1:], None], strict=True):
        total += scores[name] if answerable[name] else -1 if predictions[name] else 0
        if total > best:
            best, threshold = total, null_scores[name]
        ends_tie = following is None or null_scores[following] > null_scores[name]
        if ends_tie and total > reachable:
            reachable, below = total, null_scores[name]
    above = next((null_scores[name] for name in order if null_scores[name] > below), below + 2.0)
    midpoint = (below + above) / 2
    return BestThreshold(100.0 * best / len(scores), threshold, midpoint)
