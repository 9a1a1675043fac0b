"""The official JSON files of SQuAD 1.1 and 2.0. Before: a file. After: `squad_data`.

Every error names the file, the question and the field; nothing is left out unless asked. Fields that are not needed
(titles, plausible answers) are ignored.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.answer_alignment import AnswerPlacer, BadAnswers
from litebert.tasks.readers.data_checks import mention_repeats
from litebert.tasks.readers.tables import did_you_mean, read_text
from litebert.tasks.task_type import Kind
from litebert.tasks.types.questions import GoldAnswer, Question, as_labelled

logger = logging.getLogger(__name__)


def read_squad(path: Path, *, kind: Kind | None = None, invalid_answers: BadAnswers = "refuse") -> LabelledData:
    """The questions of a file in the layout of SQuAD, with answers; DataError when anything is not as it should be.

    `kind` None takes "answerability" if a question has no answer, else "spans".
    """
    reader = _Reader(path, has_answers=True, invalid_answers=invalid_answers)
    data = as_labelled(path, reader.questions(), kind)
    reader.placer.report()
    mention_repeats(path, data.examples)
    logger.info("%s: %d questions, %s (%s)", path, len(data.examples), data.kind, data.reason)
    return data


def read_squad_questions(path: Path) -> tuple[Question, ...]:
    """The questions alone, to predict on: answers, which may be absent, are not looked at."""
    return _Reader(path, has_answers=False, invalid_answers="refuse").questions()


class _Reader:
    """Walks one file; remembers the ids it has met."""

    def __init__(self, path: Path, *, has_answers: bool, invalid_answers: BadAnswers) -> None:
        self.placer = AnswerPlacer(path, invalid_answers)
        self._path = path
        self._has_answers = has_answers
        self._places: dict[str, str] = {}

    def questions(self) -> tuple[Question, ...]:
        """All questions of all articles, at least one."""
        found = tuple(
            question
            for article_index, article in enumerate(_field(_parsed(self._path), "data", list, where=str(self._path)))
            for index, paragraph in enumerate(
                _field(article, "paragraphs", list, where=f"{self._path}: data[{article_index}]")
            )
            for question in self._paragraph(paragraph, f"{self._path}: data[{article_index}].paragraphs[{index}]")
        )
        if not found:
            raise DataError(f"{self._path}: holds no question{' that can be used' if self.placer.skipped else ''}")
        return found

    def _paragraph(self, values: Any, where: str) -> list[Question]:
        context = _text(values, "context", where=where)
        if not context.strip():
            raise DataError(f"{where}: field 'context': blank; give the text that the questions are about")
        questions = (
            self._question(question, context, f"{where}.qas[{index}]")
            for index, question in enumerate(_field(values, "qas", list, where=where))
        )
        return [question for question in questions if question is not None]

    def _question(self, values: Any, context: str, place: str) -> Question | None:
        """None if its answers are to be skipped and none is left."""
        name = _text(values, "id", where=place)
        where = f"{self._path}: question {name!r}"
        if name in self._places:
            raise DataError(f"{where}: field 'id': used at {self._places[name]} and again at {place}; make ids unique")
        self._places[name] = place.removeprefix(f"{self._path}: ")
        text = _text(values, "question", where=where)
        if not self._has_answers:
            return Question(name, text, context, ())
        impossible = values.get("is_impossible", False)
        if not isinstance(impossible, bool):
            raise DataError(f"{where}: field 'is_impossible': expected true or false, found {impossible!r}")
        listed = _field(values, "answers", list, where=where)
        if impossible == bool(listed):
            found = f"{len(listed)} answers" if listed else "no answer"
            said = str(impossible).lower()
            raise DataError(f"{where}: field 'answers': {found}, but is_impossible is {said}; correct one of them")
        answers = tuple(filter(None, (self._answer(*each, context, where) for each in enumerate(listed))))
        return Question(name, text, context, answers) if answers or impossible else None

    def _answer(self, index: int, values: Any, context: str, where: str) -> GoldAnswer | None:
        text = _text(values, "text", where=where, inside=f"answers[{index}]")
        start = _field(values, "answer_start", int, where=where, inside=f"answers[{index}]")
        return self.placer.place(text, start, context, where=where, field=f"answers[{index}].answer_start")


def _parsed(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not valid JSON ({error.msg}, column {error.colno})") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply to be a SQuAD file") from None


def _field(values: Any, name: str, kind: type, *, where: str, inside: str = "") -> Any:
    """A field of a JSON object that must be there and of this kind; `inside` says where below `where` the object is."""
    full = f"{inside}.{name}" if inside else name
    if not isinstance(values, Mapping):
        raise DataError(
            f"{where}: {inside or 'this'}: expected an object with {name!r}, found {type(values).__name__}; "
            "is this a file in the layout of SQuAD?"
        )
    if name not in values:
        raise DataError(f"{where}: field {full!r}: missing{did_you_mean(name, values)}; see the layout of SQuAD")
    value = values[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DataError(f"{where}: field {full!r}: expected {_KINDS[kind]}, found {type(value).__name__}")
    return value


_KINDS = {list: "a list", str: "a text", int: "a whole number"}


def _text(values: Any, name: str, *, where: str, inside: str = "") -> str:
    text = _field(values, name, str, where=where, inside=inside)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{where}: field {name!r}: holds half of a surrogate pair; write whole characters") from None
    return text
