"""Questions in the columns of a table: question, context, answer and optionally the start of the answer.

An empty answer means that the context has none. `questions` stands apart because `litebert.runtime` loads it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from litebert.errors import DataError
from litebert.tasks.labelled_data import InvalidAnswers
from litebert.tasks.questions import AnswerAligner, Question
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.tables import Table


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionColumns:
    """Names of the columns."""

    question: str = "question"
    context: str = "context"
    answer: str = "answer"
    """The answer exactly as in the context; empty where the context has none."""
    answer_start: str | None = None
    """The answer's first character in the context, from 0; None: the first occurrence of the answer."""
    id: str | None = None
    """A unique name of each question; None: its line."""
    group: str | None = None
    slice: str | None = None


def has_questions(table: Table) -> bool:
    """Whether the table has the default columns of questions."""
    usual = QuestionColumns()
    return {usual.question, usual.context, usual.answer} <= set(table.columns)


def question_columns(table: Table, columns: Columns) -> QuestionColumns:
    """The columns that are named, else the default ones of questions, else those of texts, whichever the table has."""
    default, of_texts = QuestionColumns(), Columns()

    def resolve(named: str | None, name: str, otherwise: str) -> str:
        if named is not None:
            return named
        return otherwise if otherwise in table.columns and name not in table.columns else name

    return QuestionColumns(
        question=resolve(columns.text, default.question, of_texts.text_name),
        context=columns.text_pair or default.context,
        answer=resolve(columns.label, default.answer, of_texts.label_name),
        answer_start="answer_start" if "answer_start" in table.columns else None,
        id="id" if "id" in table.columns else None,
        group=columns.group,
        slice=columns.slice,
    )


def is_question_column(name: str, columns: Columns) -> bool:
    """Whether `question_columns` takes a column of this name for the questions, before the one of texts."""
    return columns.text is None and name == QuestionColumns().question


def read_question_table(
    table: Table, columns: QuestionColumns, *, invalid_answers: InvalidAnswers = "error"
) -> dict[int, Question]:
    """Line → question with its answer, without those that are skipped; DataError with file, line and field."""
    aligner, questions = AnswerAligner(table.path, invalid_answers), {}
    inputs, texts = read_question_inputs(table, columns), table.texts(columns.answer)
    for row, question, text, start in zip(
        table.rows, inputs, texts, _optional(table, columns.answer_start), strict=True
    ):
        if not text:
            questions[row.line] = question
            continue
        field = columns.answer_start or columns.answer
        where = f"{table.path}:{row.line}"
        begin = None if start is None else _start(start, where=f"{where}: field {field!r}")
        answer = aligner.align(text, begin, question.context, where=where, field=field)
        if answer is not None:
            questions[row.line] = replace(question, answers=(answer,))
    if not questions:
        raise DataError(f"{table.path}: has no valid question")
    aligner.report()
    return questions


def read_question_inputs(table: Table, columns: QuestionColumns) -> list[Question]:
    """The questions of a table without their answers."""
    contexts = table.texts(columns.context)
    names = [str(row.line) for row in table.rows]
    if columns.id is not None:
        names = table.unique_texts(columns.id, advice="make ids unique")
    for row, context in zip(table.rows, contexts, strict=True):
        if not context.strip():
            raise DataError(
                f"{table.path}:{row.line}: field {columns.context!r}: blank; write the text that the question is about"
            )
    return [
        Question(id=name, text=text, context=context, group=group, slice=slice_)
        for name, text, context, group, slice_ in zip(
            names,
            table.texts(columns.question),
            contexts,
            *group_and_slice(table, Columns(group=columns.group, slice=columns.slice)),
            strict=True,
        )
    ]


def _optional(table: Table, column: str | None) -> Sequence[str | None]:
    return [None] * len(table.rows) if column is None else table.texts(column)


def _start(text: str, *, where: str) -> int:
    # `2.0`: pandas makes a column of numbers with a missing one, a question without an answer, one of floats.
    number = re.fullmatch(r"(\d{1,12})(?:\.0+)?", text.strip(), re.ASCII)
    if not number:
        raise DataError(f"{where}: expected a whole number from 0, found {text!r}")
    return int(number[1])
