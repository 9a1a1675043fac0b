"""What a model's windows say about questions with known answers. Before: `squad_outputs`. After: `kinds`.

Figures are in percent, as SQuAD's have always been.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from litebert.tasks.encoded import Encoded
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation, Part, parts, parts_by_length
from litebert.tasks.metrics.metrics import measure
from litebert.tasks.metrics.no_answer_threshold import best_thresholds
from litebert.tasks.metrics.squad_metrics import exact_match, word_f1
from litebert.tasks.task_type import Task
from litebert.tasks.types.predictions import Verdict
from litebert.tasks.types.question_settings import FILE, QuestionSettings, stored_settings
from litebert.tasks.types.questions import Question
from litebert.tasks.types.span_answers import Candidates, QuestionAnswers, SpanScores, answers_of, scores_of
from litebert.tasks.types.span_features import EncodedQuestions
from litebert.tasks.types.span_outputs import beam_candidates, span_candidates
from litebert.tokenization.tokenizer import Tokenizer

THRESHOLD: Final = "no_answer_threshold"
"""Name of the threshold among the figures of an evaluation."""


def encode_questions(examples: Sequence[Question], tokenizer: Tokenizer, *, max_length: int) -> EncodedQuestions:
    """Windows of at most `max_length` tokens, in all else as the original."""
    return EncodedQuestions(examples, tokenizer, QuestionSettings(max_length=max_length))


def kept_settings(max_length: int, metrics: Mapping[str, float]) -> dict[str, bytes]:
    """The file by which a model directory keeps its windows and the threshold of its evaluation, if it has one."""
    settings = QuestionSettings(max_length=max_length, no_answer_threshold=metrics.get(THRESHOLD))
    return {FILE: settings.to_bytes()}


def encode_as_kept(directory: Path) -> Callable[..., EncodedQuestions]:
    """`encode_questions` with the settings in a model directory; windows are no longer than the model reads."""

    def encode(examples: Sequence[Question], tokenizer: Tokenizer, *, max_length: int) -> EncodedQuestions:
        return EncodedQuestions(examples, tokenizer, stored_settings(directory, longest=max_length))

    return encode


def scores_with(encoded: Encoded, outputs: Sequence[np.ndarray], *, beams: bool) -> list[SpanScores]:
    """What each question's spans score, from what `beam_outputs` or `span_outputs` gave for each window."""
    windows = _questions_of(encoded)
    candidates: list[Candidates] = (
        beam_candidates(outputs) if beams else span_candidates(outputs, best=windows.settings.n_best)
    )
    return scores_of(windows, candidates)


def answers_with(encoded: Encoded, outputs: Sequence[np.ndarray], *, beams: bool) -> list[QuestionAnswers]:
    """Each question's answers, from the same."""
    return answers_of(_questions_of(encoded), scores_with(encoded, outputs, beams=beams))


def evaluate_spans(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> Evaluation:
    """A model that always answers."""
    return evaluate_answers(task, answers_with(encoded, outputs, beams=False), data, encoded)


def evaluate_answerability(
    task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded
) -> Evaluation:
    """A model that may say that there is no answer, beyond the stored threshold or else the best one for these F1s."""
    threshold = _questions_of(encoded).settings.no_answer_threshold
    return evaluate_answers(task, answers_with(encoded, outputs, beams=True), data, encoded, threshold=threshold)


def evaluate_answers(
    task: Task,
    found: Sequence[QuestionAnswers],
    data: LabelledData,
    encoded: Encoded,
    *,
    threshold: float | None = None,
) -> Evaluation:
    """The figures of answers to the questions of `data`, whoever gave them.

    Where they have null scores, `metrics` also hold the threshold, which without one is the best for these F1s, and
    the figures of the official script about thresholds.
    """
    if found[0].null_score is None:
        return _evaluation(task, [answers.text(0.0) for answers in found], data, encoded)
    names = [question.id for question in data.examples]
    best = best_thresholds(
        data.examples,
        {name: answers.best[0].text for name, answers in zip(names, found, strict=True)},
        {name: answers.null_score or 0.0 for name, answers in zip(names, found, strict=True)},
    )
    threshold = best.f1.kept if threshold is None else threshold
    evaluation = _evaluation(task, [answers.text(threshold) for answers in found], data, encoded)
    evaluation.metrics.update({THRESHOLD: threshold, **best.to_dict()})
    return evaluation


def judge_spans(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> list[Verdict]:
    """The verdict on each question; its loss is 1 - F1, and more where the wrong answer seemed more certain."""
    found = answers_with(encoded, outputs, beams=False)
    return [_verdict(question, answers, 0.0) for question, answers in zip(data.examples, found, strict=True)]


def judge_answerability(
    task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded
) -> list[Verdict]:
    """As `judge_spans`, beyond the threshold that `evaluate_answerability` uses."""
    threshold = evaluate_answerability(task, outputs, data, encoded).metrics[THRESHOLD]
    found = answers_with(encoded, outputs, beams=True)
    return [_verdict(question, answers, threshold) for question, answers in zip(data.examples, found, strict=True)]


def _evaluation(task: Task, texts: Sequence[str], data: LabelledData, encoded: Encoded) -> Evaluation:
    questions: Sequence[Question] = data.examples

    def measured(rows: np.ndarray) -> dict[str, float]:
        return measure(task.metrics, [texts[row] for row in rows], [questions[row] for row in rows])

    lengths = np.array([len(document.ids) for document in _questions_of(encoded).documents])
    return Evaluation(
        metrics=measured(np.arange(len(questions))),
        examples=len(questions),
        by_length=parts_by_length(lengths, measured),
        by_slice=parts([question.slice for question in questions], measured) + _by_answerability(questions, measured),
    )


def _questions_of(encoded: Encoded) -> EncodedQuestions:
    """What `encode_questions` made, which is all that these functions are given."""
    assert isinstance(encoded, EncodedQuestions), encoded
    return encoded


def _by_answerability(questions: Sequence[Question], measured: Any) -> tuple[Part, ...]:
    """Questions with and without an answer by themselves, where there are both."""
    has_answer = ["with an answer" if question.answers else "without an answer" for question in questions]
    return parts(has_answer, measured) if len(set(has_answer)) > 1 else ()


def _verdict(question: Question, answers: QuestionAnswers, threshold: float) -> Verdict:
    predicted = answers.text(threshold)
    golds = [answer.text for answer in question.answers] or [""]
    overlap = max(word_f1(predicted, gold) for gold in golds)
    return Verdict(
        shown=f"{question.context}\n{question.text}",
        expected=" | ".join(dict.fromkeys(golds)) or "(no answer)",
        predicted=f"{predicted or '(no answer)'} ({answers.best[0].probability:.3f})",
        loss=(1 - overlap) * (1 + answers.best[0].probability),
        right=any(exact_match(predicted, gold) for gold in golds),
    )
