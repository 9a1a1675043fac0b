"""Answers scored against the correct ones, in percent as in the official SQuAD scripts."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Part, parts
from litebert.tasks.metrics.no_answer_threshold import best_thresholds
from litebert.tasks.metrics.squad_metrics import exact_match, word_f1
from litebert.tasks.task import Task
from litebert.tasks.types.extractive_qa.question_settings import THRESHOLD, QuestionSettings
from litebert.tasks.types.extractive_qa.questions import Question
from litebert.tasks.types.extractive_qa.span_answers import SpanAnswer, n_best
from litebert.tasks.types.extractive_qa.span_scores import SpanScores
from litebert.tasks.types.task_type import ErrorExample, Scored, measured, score

logger = logging.getLogger(__name__)

MIN_ANSWER_F1: Final = 1.0
"""Percent; a model that scores less on answerable questions has collapsed."""
ANSWERABLE: Final = "with an answer"
"""Name of the slice of answerable questions."""


def evaluate_answers(
    task: Task, predictions: Sequence[SpanScores], data: LabelledData, lengths: np.ndarray, settings: QuestionSettings
) -> Scored:
    """Metrics of the predicted answers.

    With null scores the metrics also hold the threshold, by default the one with the best F1 on these questions, and
    the best scores over all thresholds.
    """
    best = _best_spans(predictions, data, settings)
    null_scores = [each.null_score for each in predictions if each.null_score is not None]
    thresholds: dict[str, float] = {}
    texts = [span.text for span in best]
    if null_scores:
        names = [question.id for question in data.examples]
        by_threshold = best_thresholds(
            data.examples, dict(zip(names, texts, strict=True)), dict(zip(names, null_scores, strict=True))
        )
        threshold = settings.no_answer_threshold
        if threshold is None:
            threshold = by_threshold.f1.midpoint
            logger.info("%s: no-answer threshold %.4f, chosen for the best F1 on this data", data.path, threshold)
        thresholds = {THRESHOLD: threshold, **by_threshold.to_dict()}
        texts = [text if score <= threshold else "" for text, score in zip(texts, null_scores, strict=True)]
    questions = list(data.examples)
    result = score(task, texts, questions, data, lengths)
    metrics = result.evaluation.metrics | thresholds
    by_slice = (*result.evaluation.by_slice, *_by_answerability(task, texts, questions))
    return replace(result, evaluation=replace(result.evaluation, metrics=metrics, by_slice=by_slice))


def answer_errors(
    task: Task, predictions: Sequence[SpanScores], data: LabelledData, scored: Scored
) -> list[ErrorExample]:
    """Every question with its answer; the loss is 1 - F1, and more where the model was more certain."""
    errors = []
    for question, scores, predicted in zip(data.examples, predictions, scored.predicted, strict=True):
        probability = n_best(scores, question.context, size=QuestionSettings().n_best)[0].probability
        golds = [answer.text for answer in question.answers] or [""]
        overlap = max(word_f1(predicted, gold) for gold in golds)
        errors.append(
            ErrorExample(
                text=f"{question.context}\n{question.text}",
                expected=" | ".join(dict.fromkeys(golds)) or "(no answer)",
                predicted=f"{predicted or '(no answer)'} ({probability:.3f})",
                loss=(1 - overlap) * (1 + probability),
                is_correct=any(exact_match(predicted, gold) for gold in golds),
            )
        )
    return errors


def answers_collapse(evaluation: Mapping[str, Any]) -> str | None:
    """Why a model has collapsed: it finds no answer to the questions that have one."""
    answerable = [part["metrics"] for part in evaluation["by_slice"] if part["name"] == ANSWERABLE]
    best = max((answerable[0] if answerable else evaluation["metrics"]).values())
    return f"finds no answer ({best:.2f} % on answerable questions)" if best < MIN_ANSWER_F1 else None


def _best_spans(predictions: Sequence[SpanScores], data: LabelledData, settings: QuestionSettings) -> list[SpanAnswer]:
    pairs = zip(predictions, data.examples, strict=True)
    return [n_best(scores, question.context, size=settings.n_best)[0] for scores, question in pairs]


def _by_answerability(task: Task, texts: Sequence[str], questions: Sequence[Question]) -> tuple[Part, ...]:
    """Scores of the answerable and of the unanswerable questions, if there are both."""
    names = [ANSWERABLE if question.answers else "without an answer" for question in questions]
    return parts(names, measured(task, texts, questions)) if len(set(names)) > 1 else ()
