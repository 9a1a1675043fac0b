"""The task types `extractive_qa` and `extractive_qa_no_answer`: the span of a context that answers a question.

Models of the second type can also predict that there is no answer, as in SQuAD 2.0.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.evaluation import Evaluation, Scored, parts
from litebert.tasks.metrics.metrics import metrics_of_parts
from litebert.tasks.metrics.squad_metrics import as_scored, best_thresholds, exact_match, word_f1
from litebert.tasks.prediction_files.prediction_columns import PredictionReader, read_texts
from litebert.tasks.questions import Question
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.option_columns import option_columns
from litebert.tasks.readers.tables import Table
from litebert.tasks.types.built_in_inference import ANSWER, ANSWER_OR_NONE
from litebert.tasks.types.extractive_qa.question_settings import THRESHOLD, QuestionSettings
from litebert.tasks.types.extractive_qa.question_tables import (
    has_questions,
    is_question_column,
    question_columns,
    read_question_inputs,
    read_question_table,
)
from litebert.tasks.types.extractive_qa.span_outputs import (
    span_and_answerability_losses,
    span_beams,
    span_logits,
    span_losses,
)
from litebert.tasks.types.extractive_qa.span_scores import (
    SpanScores,
    n_best,
)
from litebert.tasks.types.extractive_qa.squad_json import (
    ROWS_ARE_JSON_LINES,
    has_answers,
    read_squad,
    read_squad_questions,
    squad_part,
    write_squad_predictions,
)
from litebert.tasks.types.task_type import (
    CardEntry,
    ErrorExample,
    ExampleReader,
    FileFormat,
    Loss,
    ReadOptions,
    ReadResult,
    TaskType,
    measured,
    score,
)

logger = logging.getLogger(__name__)

MIN_ANSWER_F1: Final = 1.0
"""Percent; a model that scores less on answerable questions has collapsed."""
ANSWERABLE: Final = "with an answer"
"""Name of the slice of answerable questions."""
ALWAYS: Final = "extractive_qa"
NO_ANSWER: Final = "extractive_qa_no_answer"


def with_task_type(path: Path, questions: Sequence[Question], task_type: str | None) -> ReadResult:
    """The questions as `task_type`; None decides by whether every question has an answer."""
    unanswerable = [question for question in questions if not question.answers]
    if task_type == ALWAYS and unanswerable:
        raise DataError(
            f"{path}: question {unanswerable[0].id!r} and {len(unanswerable) - 1} others have no answer, which "
            f"{ALWAYS!r} cannot predict; use the task type {NO_ANSWER!r}, or remove them"
        )
    if task_type is not None:
        return ReadResult(examples=questions, task_type=task_type)
    if unanswerable:
        reason = f"{len(unanswerable)} of {len(questions)} questions have no answer"
        return ReadResult(examples=questions, task_type=NO_ANSWER, reason=reason)
    return ReadResult(examples=questions, task_type=ALWAYS, reason="every question has an answer")


def _read_table(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    names = question_columns(table, columns)
    questions = read_question_table(table, names, invalid_answers=options.invalid_answers)
    result = with_task_type(table.path, tuple(questions.values()), options.task_type)
    return replace(result, lines=tuple(questions))


def evaluate_answers(
    task: Task, predictions: Sequence[SpanScores], data: LabelledData, lengths: np.ndarray, settings: QuestionSettings
) -> Scored:
    """Metrics of the predicted answers.

    With null scores the metrics also hold the threshold, by default the one with the best F1 on these questions, and
    the best scores over all thresholds.
    """
    null_scores = [each.null_score for each in predictions if each.null_score is not None]
    thresholds: dict[str, float] = {}
    pairs = zip(predictions, data.examples, strict=True)
    texts = [n_best(scores, question.context, size=settings.n_best)[0].text for scores, question in pairs]
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
    return score_answers(task, texts, data, lengths, thresholds)


def score_answers(
    task: Task, texts: Sequence[str], data: LabelledData, lengths: np.ndarray, thresholds: dict[str, float]
) -> Scored:
    """Metrics of answers as texts, with `thresholds` as further metrics."""
    questions = as_scored(data.examples)
    result = score(task, texts, questions, data, lengths)
    metrics = result.evaluation.metrics | thresholds
    names = [ANSWERABLE if question.answers else "without an answer" for question in data.examples]
    of_part = measured(metrics_of_parts(task.metrics), texts, questions)
    by_answerability = parts(names, of_part) if len(set(names)) > 1 else ()
    by_slice = (*result.evaluation.by_slice, *by_answerability)
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


def answers_collapse(evaluation: Evaluation) -> str | None:
    """Why a model has collapsed: it finds no answer to the questions that have one."""
    answerable = [part.metrics for part in evaluation.by_slice if part.name == ANSWERABLE]
    scores = answerable[0] if answerable else evaluation.metrics
    best = max((scores[name] for name in EXTRACTIVE_QA.metrics if name in scores), default=math.inf)
    return f"finds no answer ({best:.2f} % on answerable questions)" if best < MIN_ANSWER_F1 else None


def _guess(table: Table, columns: Columns) -> str | None:
    """Questions with options are those of multiple choice."""
    if columns.options or option_columns(table) or not has_questions(table):
        return None
    return "the columns are those of questions"


def _row(question: Question, labels: Sequence[str]) -> dict[str, Any]:
    answers = [answer.text for answer in question.answers]
    return {"id": question.id, "question": question.text, "context": question.context, "answers": answers}


SQUAD_JSON: Final = FileFormat(
    suffixes=(".json",),
    other_data=ROWS_ARE_JSON_LINES,
    read=lambda path, options: with_task_type(
        path, read_squad(path, invalid_answers=options.invalid_answers), options.task_type
    ),
    has_labels=has_answers,
    iter_inputs=lambda path: iter(read_squad_questions(path)),
    row=_row,
    part=lambda path, data: squad_part(path, {question.id: question for question in data.examples}),
    write_directory=write_squad_predictions,
)

EXTRACTIVE_QA: Final = TaskType(
    name=ALWAYS,
    model="ForQuestionAnswering",
    head=("spans",),
    metrics=("answer_f1", "exact_match"),
    settings=QuestionSettings,
    reader=ExampleReader(
        guess=_guess,
        read=_read_table,
        read_inputs=lambda table, columns: read_question_inputs(table, question_columns(table, columns)),
        label_column=lambda table, columns: question_columns(table, columns).answer,
        needs_label=False,
        saves_columns=False,
        finds_column=is_question_column,
        file_format=SQUAD_JSON,
    ),
    loss=Loss(counts=lambda batch: {"span": batch.num_examples}, sums=span_losses),
    forward=span_logits,
    inference=ANSWER,
    evaluate=evaluate_answers,
    error_examples=answer_errors,
    collapse=answers_collapse,
    predictions=PredictionReader(
        columns=("prediction", "answer", "label"),
        read=read_texts,
        evaluate=lambda task, texts, data: score_answers(task, texts, data, np.array([]), {}),
    ),
    card=CardEntry(
        title="An ALBERT for question answering",
        pipeline_tag="question-answering",
        argument='"a question", "a text with the answer"',
        pair_argument=None,
        goal=lambda task: "extractive question answering",
    ),
    windows=True,
)

EXTRACTIVE_QA_NO_ANSWER: Final = replace(
    EXTRACTIVE_QA,
    name=NO_ANSWER,
    model="ForQuestionAnsweringWithNoAnswer",
    head=("start", "end_dense", "end_norm", "end", "answer_dense", "answer"),
    loss=Loss(
        counts=lambda batch: {"span": batch.num_examples, "impossible": batch.num_examples},
        sums=span_and_answerability_losses,
    ),
    forward=span_beams,
    inference=ANSWER_OR_NONE,
)
