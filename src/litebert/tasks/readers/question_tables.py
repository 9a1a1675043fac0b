"""Questions in a CSV, TSV or JSONL table of one's own. Before: `rows`. After: `squad_data`.

One row a question: question, context, answer, and optionally where the answer starts. An empty answer says that the
context has none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from litebert.errors import DataError
from litebert.tasks.readers.answer_alignment import AnswerPlacer, BadAnswers
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.types.questions import GoldAnswer, Question


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionColumns:
    """Which column holds what."""

    question: str = "question"
    context: str = "context"
    answer: str = "answer"
    """The answer, letter for letter as in the context; empty where the context has none."""
    answer_start: str | None = None
    """The answer's first character in the context, from 0; None takes the first occurrence of the answer."""
    id: str | None = None
    """A unique name; None names each question by its line."""
    group: str | None = None
    slice: str | None = None


def holds_questions(table: Table) -> bool:
    """Whether the columns are called as questions with answers usually are."""
    usual = QuestionColumns()
    return {usual.question, usual.context, usual.answer} <= set(table.columns)


def question_columns(table: Table, columns: Columns) -> QuestionColumns:
    """`columns`; those that nobody named by the usual names of questions, or where the table lacks these, of texts."""
    usual, elsewhere = QuestionColumns(), Columns().names()

    def called(named: str | None, name: str, otherwise: str) -> str:
        if named is not None:
            return named
        return otherwise if otherwise in table.columns and name not in table.columns else name

    return QuestionColumns(
        question=called(columns.text, usual.question, elsewhere.text),
        context=columns.text_pair or usual.context,
        answer=called(columns.label, usual.answer, elsewhere.label),
        answer_start="answer_start" if "answer_start" in table.columns else None,
        id="id" if "id" in table.columns else None,
        group=columns.group,
        slice=columns.slice,
    )


def question_rows(table: Table, columns: QuestionColumns, *, invalid_answers: BadAnswers = "refuse") -> list[Question]:
    """The questions of a table with their answers; DataError with file, line and field."""
    placer = AnswerPlacer(table.path, invalid_answers)
    starts = _optional(table, columns.answer_start)
    found = [
        _placed(table, row, question, text, start, columns, placer)
        for row, question, text, start in zip(
            table.rows, unanswered_rows(table, columns), table.texts(columns.answer), starts, strict=True
        )
    ]
    questions = [question for question in found if question is not None]
    if not questions:
        raise DataError(f"{table.path}: holds no question that can be used")
    placer.report()
    return questions


def unanswered_rows(table: Table, columns: QuestionColumns) -> list[Question]:
    """The questions of a table without their answers, to predict on."""
    contexts = table.texts(columns.context)
    for row, context in zip(table.rows, contexts, strict=True):
        if not context.strip():
            raise DataError(
                f"{table.path}:{row.line}: field {columns.context!r}: blank; give the text that the question is about"
            )
    extra = (_optional(table, name) for name in (columns.group, columns.slice))
    answers: list[tuple[GoldAnswer, ...]] = [()] * len(contexts)
    return list(map(Question, _ids(table, columns.id), table.texts(columns.question), contexts, answers, *extra))


def _optional(table: Table, column: str | None) -> Sequence[str | None]:
    return [None] * len(table.rows) if column is None else table.texts(column)


def _ids(table: Table, column: str | None) -> list[str]:
    names = [str(row.line) for row in table.rows] if column is None else table.texts(column)
    lines: dict[str, int] = {}
    for name, row in zip(names, table.rows, strict=True):
        if name in lines:
            raise DataError(
                f"{table.path}:{row.line}: field {column!r}: the id {name!r} is that of line {lines[name]} as well; "
                "make ids unique"
            )
        lines[name] = row.line
    return names


def _placed(
    table: Table,
    row: Row,
    question: Question,
    text: str,
    start: str | None,
    columns: QuestionColumns,
    placer: AnswerPlacer,
) -> Question | None:
    """The question with its answer; None if it is to be skipped."""
    if not text:
        return question
    where = f"{table.path}:{row.line}"
    field = columns.answer if columns.answer_start is None else columns.answer_start
    if start is not None and not re.fullmatch(r"\d{1,12}", start.strip(), re.ASCII):
        raise DataError(f"{where}: field {field!r}: expected a whole number from 0, found {start!r}")
    begin = None if start is None else int(start)
    answer = placer.place(text, begin, question.context, where=where, field=field)
    return None if answer is None else replace(question, answers=(answer,))
