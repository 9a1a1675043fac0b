"""Exact match and F1 as the official SQuAD scripts count them. Before: predictions. After: runs, `squad_thresholds`.

Source: the evaluation scripts of SQuAD 1.1 and 2.0, whose figures these equal to the last digit: sums run in the order
of the file, without compensation.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from litebert.errors import DataError
from litebert.tasks.types.questions import Question

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower-cased, without ASCII punctuation and English articles, words joined by single spaces."""
    bare = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(prediction: str, gold: str) -> int:
    """1 if both are the same once normalised, else 0."""
    return int(normalize_answer(prediction) == normalize_answer(gold))


def word_f1(prediction: str, gold: str) -> float:
    """Harmonic mean of precision and recall of the words; texts without a word agree only with each other.

    SQuAD 1.1 gives 0 to two texts without a word, SQuAD 2.0 gives 1; `score_answerable` keeps that difference.
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
    """What each question scored, by its id, in the order of the file."""

    exact: dict[str, float]
    f1: dict[str, float]


def score_answerable(questions: Sequence[Question], predictions: Mapping[str, str]) -> QuestionScores:
    """SQuAD 1.1: the best of each question's answers; a question without a prediction scores 0."""
    scores = QuestionScores({}, {})
    for question in questions:
        golds = [answer.text for answer in question.answers]
        prediction = predictions.get(question.id)
        missing = prediction is None
        scores.exact[question.id] = 0 if missing else max(exact_match(prediction, gold) for gold in golds)
        scores.f1[question.id] = 0.0 if missing else max(_f1_of_1_1(prediction, gold) for gold in golds)
    return scores


def _f1_of_1_1(prediction: str, gold: str) -> float:
    return _f1(normalize_answer(prediction).split(), normalize_answer(gold).split())


def score_with_unanswerable(questions: Sequence[Question], predictions: Mapping[str, str]) -> QuestionScores:
    """SQuAD 2.0: as above, but "" is the right answer where there is none; DataError if a prediction is missing."""
    missing = [question.id for question in questions if question.id not in predictions]
    if missing:
        raise DataError(
            f"predictions: {len(missing)} of {len(questions)} questions have no prediction, such as {missing[0]!r}; "
            "predict every question, '' where there is no answer"
        )
    scores = QuestionScores({}, {})
    for question in questions:
        golds = _golds_of_2_0(question)
        prediction = predictions[question.id]
        scores.exact[question.id] = max(exact_match(prediction, gold) for gold in golds)
        scores.f1[question.id] = max(word_f1(prediction, gold) for gold in golds)
    return scores


def _golds_of_2_0(question: Question) -> list[str]:
    """The answers that keep a word when normalised; "" where none does."""
    return [answer.text for answer in question.answers if normalize_answer(answer.text)] or [""]


def evaluate_answerable(questions: Sequence[Question], predictions: Mapping[str, str]) -> dict[str, float]:
    """`exact_match` and `f1`, in percent, as the script of SQuAD 1.1 reports them."""
    scores = score_answerable(questions, predictions)
    return {"exact_match": percent(scores.exact.values()), "f1": percent(scores.f1.values())}


def evaluate_with_unanswerable(questions: Sequence[Question], predictions: Mapping[str, str]) -> dict[str, float]:
    """`exact`, `f1` and `total`, also of the questions with and without an answer, as the script of SQuAD 2.0 does."""
    return report_with_unanswerable(questions, score_with_unanswerable(questions, predictions))


def report_with_unanswerable(questions: Sequence[Question], scores: QuestionScores) -> dict[str, float]:
    """The figures of the script of SQuAD 2.0 for scored questions; a part without questions is left out."""
    parts = {
        "": questions,
        "HasAns_": [question for question in questions if question.answers],
        "NoAns_": [question for question in questions if not question.answers],
    }
    figures: dict[str, float] = {}
    for prefix, part in parts.items():
        if part:
            figures[f"{prefix}exact"] = percent(scores.exact[question.id] for question in part)
            figures[f"{prefix}f1"] = percent(scores.f1[question.id] for question in part)
            figures[f"{prefix}total"] = len(part)
    return figures


def answer_f1(predictions: Sequence[str], questions: Sequence[Question]) -> float:
    """Mean `word_f1` in percent; a file with unanswerable questions is scored as SQuAD 2.0, others as 1.1."""
    return percent(_scores(predictions, questions).f1.values())


def answer_exact_match(predictions: Sequence[str], questions: Sequence[Question]) -> float:
    """Share of exact matches in percent; as `answer_f1`."""
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
