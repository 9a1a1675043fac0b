"""The task types `extractive_qa` and `extractive_qa_no_answer`: the span of a context that answers a question.

Models of the second type can also predict that there is no answer, as in SQuAD 2.0.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Table, read_text
from litebert.tasks.types.extractive_qa.qa_evaluation import answer_errors, answers_collapse, evaluate_answers
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.question_tables import (
    has_questions,
    question_columns,
    read_question_inputs,
    read_question_table,
)
from litebert.tasks.types.extractive_qa.questions import Question
from litebert.tasks.types.extractive_qa.span_answers import decode_answer
from litebert.tasks.types.extractive_qa.span_outputs import (
    span_and_answerability_losses,
    span_beams,
    span_logits,
    span_losses,
)
from litebert.tasks.types.extractive_qa.span_scores import (
    average_span_scores,
    scores_from_beams,
    scores_from_logits,
)
from litebert.tasks.types.extractive_qa.squad_json import read_squad, read_squad_questions
from litebert.tasks.types.extractive_qa.squad_predictions import write_squad_predictions
from litebert.tasks.types.extractive_qa.windows import encode_questions
from litebert.tasks.types.task_type import (
    CardEntry,
    ExampleReader,
    FileFormat,
    Loss,
    ReadOptions,
    ReadResult,
    TaskType,
)

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
    return with_task_type(table.path, questions, options.task_type)


def _read_json(path: Path, options: ReadOptions) -> ReadResult:
    return with_task_type(path, read_squad(path, invalid_answers=options.invalid_answers), options.task_type)


SQUAD_JSON: Final = FileFormat(
    suffixes=(".json",),
    read=_read_json,
    has_labels=lambda path: '"answers"' in read_text(path),
    iter_inputs=lambda path: iter(read_squad_questions(path)),
    write_directory=write_squad_predictions,
)

EXTRACTIVE_QA: Final = TaskType(
    name=ALWAYS,
    model="ForQuestionAnswering",
    head=("spans",),
    metrics=("answer_f1", "exact_match"),
    settings=QuestionSettings,
    reader=ExampleReader(
        guess=lambda table, columns: "the columns are those of questions" if has_questions(table) else None,
        read=_read_table,
        read_inputs=lambda table, columns: read_question_inputs(table, question_columns(table, columns)),
        label_column=lambda table, columns: question_columns(table, columns).answer,
        saves_columns=False,
        file_format=SQUAD_JSON,
    ),
    encode=encode_questions,
    loss=Loss(counts=lambda batch: {"span": batch.num_examples}, sums=span_losses),
    forward=span_logits,
    predict=scores_from_logits,
    average=average_span_scores,
    decode=decode_answer,
    evaluate=evaluate_answers,
    error_examples=answer_errors,
    collapse=answers_collapse,
    card=CardEntry(
        title="An ALBERT for question answering",
        pipeline_tag="question-answering",
        method="answer",
        argument='"a question", "a text with the answer"',
        pair_argument=None,
        goal=lambda task: "extractive question answering",
    ),
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
    predict=scores_from_beams,
)
