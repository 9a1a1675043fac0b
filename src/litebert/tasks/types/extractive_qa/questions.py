"""Questions about contexts, and questions in the columns of a table: question, context, answer, maybe its start.

An answer must occur in its context where the file says; an empty one means that the context has none. A start that is
off by a few characters is corrected. Other mismatches are errors, or skipped and counted.
"""

import logging
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from litebert.errors import DataError
from litebert.tasks.labelled_data import InvalidAnswers, normalized_text

if TYPE_CHECKING:  # `litebert.runtime` has `Question` without the packages that read tables and settings
    from litebert.tasks.readers.columns import Columns
    from litebert.tasks.readers.tables import Table

logger = logging.getLogger(__name__)

MAX_OFFSET = 10
"""Most characters by which a start may be off. Annotation tools miss by one or two; further away is another mention."""
_REPORTS = {
    "corrected": f"%s: corrected the start of %d answers by at most {MAX_OFFSET} characters (first: %s)",
    "ambiguous": "%s: %d answers without a start occur more than once; used the first occurrence (%s)",
    "skipped": "%s: skipped %d invalid answers (first: %s)",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldAnswer:
    """An answer of the data set."""

    text: str
    start: int
    """Its first character in the context, which has `text` there."""

    @property
    def span(self) -> tuple[int, int]:
        """Half-open span of characters of the context."""
        return self.start, self.start + len(self.text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question about a context and its correct answers."""

    id: str
    text: str
    context: str
    answers: tuple[GoldAnswer, ...] = ()
    """Empty where the context has no answer, and in a file without answers."""
    group: str | None = None
    slice: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Context and question."""
        return self.context, self.text

    @property
    def target(self) -> tuple[str, ...]:
        """The different correct answers; empty where there is none."""
        return tuple(sorted({normalized_text(answer.text) for answer in self.answers}))

    @property
    def split_key(self) -> Hashable:
        """Questions about one context stay together."""
        return self.context


class AnswerAligner:
    """Aligns the answers of one file and reports its corrections."""

    def __init__(self, path: Path, invalid_answers: InvalidAnswers) -> None:
        self.notes: dict[str, list[str]] = {kind: [] for kind in _REPORTS}
        """One for each answer that was corrected, is ambiguous or was skipped."""
        self._path = path
        self._invalid_answers = invalid_answers

    def align(self, text: str, start: int | None, context: str, *, where: str, field: str) -> GoldAnswer | None:
        """The answer at its position in `context`; None if it is skipped.

        `start` None takes the first occurrence. Messages begin with `where`; `field` is the field of the start or text.
        """
        if not text.strip():
            return self._invalid(
                f"{where}: field {field!r}: the answer is blank; write it, or mark the question as impossible"
            )
        if start is None:
            return self._first_occurrence(text, context, where=where, field=field)
        if start >= 0 and context.startswith(text, start):
            return GoldAnswer(text=text, start=start)
        found = nearest(text, context, start)
        if found is None:
            return self._invalid(
                f"{where}: field {field!r}: the answer {_short(text)} is not in the context; correct it"
            )
        if abs(found - start) > MAX_OFFSET:
            return self._invalid(
                f"{where}: field {field!r}: {start}, but the answer {_short(text)} is at {found}, more than "
                f"{MAX_OFFSET} characters away; correct the start"
            )
        self.notes["corrected"].append(f"{where}: {start} → {found}")
        return GoldAnswer(text=text, start=found)

    def report(self) -> None:
        """Log the corrections, once for the whole file."""
        for kind, notes in self.notes.items():
            if notes:
                logger.warning(_REPORTS[kind], self._path, len(notes), notes[0])

    def _first_occurrence(self, text: str, context: str, *, where: str, field: str) -> GoldAnswer | None:
        start = context.find(text)
        if start < 0:
            return self._invalid(
                f"{where}: field {field!r}: the answer {_short(text)} is not in the context; correct it"
            )
        if context.find(text, start + 1) >= 0:
            self.notes["ambiguous"].append(f"{where}: {_short(text)}")
        return GoldAnswer(text=text, start=start)

    def _invalid(self, message: str) -> None:
        if self._invalid_answers == "error":
            raise DataError(message)
        self.notes["skipped"].append(message)


def nearest(text: str, context: str, start: int) -> int | None:
    """The occurrence of `text` nearest to `start`, the earlier one on a tie; None if there is none."""
    start = min(max(start, 0), len(context))
    found = (context.rfind(text, 0, start + len(text)), context.find(text, start))
    return min((each for each in found if each >= 0), key=lambda each: abs(each - start), default=None)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")


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


def has_questions(table: "Table") -> bool:
    """Whether the table has the default columns of questions."""
    usual = QuestionColumns()
    return {usual.question, usual.context, usual.answer} <= set(table.columns)


def question_columns(table: "Table", columns: "Columns") -> QuestionColumns:
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


def read_question_table(
    table: "Table", columns: QuestionColumns, *, invalid_answers: InvalidAnswers = "error"
) -> list[Question]:
    """The questions of a table with their answers; DataError with file, line and field."""
    aligner, questions = AnswerAligner(table.path, invalid_answers), []
    inputs, texts = read_question_inputs(table, columns), table.texts(columns.answer)
    for row, question, text, start in zip(
        table.rows, inputs, texts, _optional(table, columns.answer_start), strict=True
    ):
        if not text:
            questions.append(question)
            continue
        field = columns.answer_start or columns.answer
        where = f"{table.path}:{row.line}"
        begin = None if start is None else _start(start, where=f"{where}: field {field!r}")
        answer = aligner.align(text, begin, question.context, where=where, field=field)
        if answer is not None:
            questions.append(replace(question, answers=(answer,)))
    if not questions:
        raise DataError(f"{table.path}: has no valid question")
    aligner.report()
    return questions


def read_question_inputs(table: "Table", columns: QuestionColumns) -> list[Question]:
    """The questions of a table without their answers."""
    contexts = table.texts(columns.context)
    for row, context in zip(table.rows, contexts, strict=True):
        if not context.strip():
            raise DataError(
                f"{table.path}:{row.line}: field {columns.context!r}: blank; write the text that the question is about"
            )
    return [
        Question(id=name, text=text, context=context, group=group, slice=slice_)
        for name, text, context, group, slice_ in zip(
            _ids(table, columns.id),
            table.texts(columns.question),
            contexts,
            _optional(table, columns.group),
            _optional(table, columns.slice),
            strict=True,
        )
    ]


def _optional(table: "Table", column: str | None) -> Sequence[str | None]:
    return [None] * len(table.rows) if column is None else table.texts(column)


def _ids(table: "Table", column: str | None) -> list[str]:
    names = [str(row.line) for row in table.rows] if column is None else table.texts(column)
    lines: dict[str, int] = {}
    for name, row in zip(names, table.rows, strict=True):
        if name in lines:
            raise DataError(
                f"{table.path}:{row.line}: field {column!r}: the id {name!r} is also that of line {lines[name]}; "
                "make ids unique"
            )
        lines[name] = row.line
    return names


def _start(text: str, *, where: str) -> int:
    if not re.fullmatch(r"\d{1,12}", text.strip(), re.ASCII):
        raise DataError(f"{where}: expected a whole number from 0, found {text!r}")
    return int(text)
