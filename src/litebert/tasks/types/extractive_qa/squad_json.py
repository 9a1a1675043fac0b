"""SQuAD 1.1 and 2.0 in their official JSON layout.

Every error names the file, the question and the field. Fields that are not needed (titles, plausible answers) are
ignored.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from litebert.errors import DataError, did_you_mean
from litebert.files import write_json
from litebert.tasks.labelled_data import InvalidAnswers
from litebert.tasks.questions import AnswerAligner, GoldAnswer, Question
from litebert.tasks.readers.text_files import read_text
from litebert.tasks.types.extractive_qa.span_scores import Answer

PREDICTIONS: Final = "predictions.json"
"""Question id → answer, for the official evaluation scripts."""
N_BEST: Final = "nbest_predictions.json"
NULL_ODDS: Final = "null_odds.json"
"""Question id → null score; only of a model that can predict "no answer"."""


def read_squad(path: Path, *, invalid_answers: InvalidAnswers = "error") -> tuple[Question, ...]:
    """The questions of a file with their answers; DataError for an invalid file."""
    reader = _Reader(path, has_answers=True, invalid_answers=invalid_answers)
    questions = reader.questions()
    reader.aligner.report()
    return questions


def read_squad_questions(path: Path) -> tuple[Question, ...]:
    """The questions without their answers, which the file need not have."""
    return _Reader(path, has_answers=False, invalid_answers="error").questions()


def has_answers(path: Path) -> bool:
    """Whether a question of a file has answers, or an empty list of them that is meant; False for a test file."""
    questions = (
        question
        for article in _field(_parsed(path), "data", list, where=str(path))
        for paragraph in _field(article, "paragraphs", list, where=str(path))
        for question in _field(paragraph, "qas", list, where=str(path))
    )
    return any(
        isinstance(question, Mapping)
        and "answers" in question
        and bool(question["answers"] or question.get("is_impossible"))
        for question in questions
    )


def squad_part(path: Path, questions: Mapping[str, Question]) -> str:
    """The JSON of a file with only these questions, by id, and only articles and paragraphs that have some of them.

    Their answers are those that were read: aligned with the context, without invalid ones.
    """
    content = _parsed(path)
    articles = []
    for article in content["data"]:
        kept = [
            {**paragraph, "qas": [_with_answers(qa, questions) for qa in paragraph["qas"] if qa["id"] in questions]}
            for paragraph in article["paragraphs"]
        ]
        articles.append({**article, "paragraphs": [paragraph for paragraph in kept if paragraph["qas"]]})
    found = [article for article in articles if article["paragraphs"]]
    return json.dumps({**content, "data": found}, ensure_ascii=False) + "\n"


def _with_answers(values: Mapping[str, Any], questions: Mapping[str, Question]) -> dict[str, Any]:
    answers = questions[values["id"]].answers
    return {**values, "answers": [{"text": each.text, "answer_start": each.start} for each in answers]}


class _Reader:
    """Reads one file and checks that ids are unique."""

    def __init__(self, path: Path, *, has_answers: bool, invalid_answers: InvalidAnswers) -> None:
        self.aligner = AnswerAligner(path, invalid_answers)
        self._path = path
        self._has_answers = has_answers
        self._seen: dict[str, str] = {}

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
            raise DataError(f"{self._path}: has no {'valid ' if self.aligner.notes['skipped'] else ''}question")
        return found

    def _paragraph(self, values: Any, where: str) -> list[Question]:
        context = _text(values, "context", where=where)
        if not context.strip():
            raise DataError(f"{where}: field 'context': blank; write the text that the questions are about")
        questions = (
            self._question(question, context, f"{where}.qas[{index}]")
            for index, question in enumerate(_field(values, "qas", list, where=where))
        )
        return [question for question in questions if question is not None]

    def _question(self, values: Any, context: str, place: str) -> Question | None:
        """None if all its answers are skipped."""
        name = _text(values, "id", where=place)
        where = f"{self._path}: question {name!r}"
        if name in self._seen:
            raise DataError(f"{where}: field 'id': used at {self._seen[name]} and again at {place}; make ids unique")
        self._seen[name] = place.removeprefix(f"{self._path}: ")
        text = _text(values, "question", where=where)
        if not self._has_answers:
            return Question(id=name, text=text, context=context)
        impossible = values.get("is_impossible", False)
        if not isinstance(impossible, bool):
            raise DataError(f"{where}: field 'is_impossible': expected true or false, found {impossible!r}")
        listed = _field(values, "answers", list, where=where)
        if impossible == bool(listed):
            found = f"{len(listed)} answers" if listed else "no answer"
            value = str(impossible).lower()
            raise DataError(f"{where}: field 'answers': {found}, but is_impossible is {value}; correct one of them")
        answers = tuple(filter(None, (self._answer(*each, context, where) for each in enumerate(listed))))
        return Question(id=name, text=text, context=context, answers=answers) if answers or impossible else None

    def _answer(self, index: int, values: Any, context: str, where: str) -> GoldAnswer | None:
        text = _text(values, "text", where=where, inside=f"answers[{index}]")
        start = _field(values, "answer_start", int, where=where, inside=f"answers[{index}]")
        return self.aligner.align(text, start, context, where=where, field=f"answers[{index}].answer_start")


ROWS_ARE_JSON_LINES: Final = "a .json file is read in the layout of SQuAD; save rows as JSON lines (.jsonl)"


def _parsed(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        # Where JSON lines have the ending .json, the second line is extra data.
        advice = f"; {ROWS_ARE_JSON_LINES}" if error.msg == "Extra data" else ""
        raise DataError(f"{path}:{error.lineno}: not valid JSON ({error.msg}, column {error.colno}){advice}") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise DataError(f"{path}: not valid JSON ({error})") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply to be a SQuAD file") from None


def _field(values: Any, name: str, type_: type, *, where: str, inside: str = "") -> Any:
    """A required field of a JSON object; `inside` is the path of the object below `where`."""
    full = f"{inside}.{name}" if inside else name
    # Rows, as pandas writes them, lack `data`, or have them there instead of articles.
    advice = ROWS_ARE_JSON_LINES if name in ("data", "paragraphs") else "see the layout of SQuAD"
    if not isinstance(values, Mapping):
        found = f"expected an object with {name!r}, found {type(values).__name__}"
        raise DataError(f"{where}: {f'{inside}: ' if inside else ''}{found}; {advice}")
    if name not in values:
        raise DataError(f"{where}: field {full!r}: missing{did_you_mean(name, values)}; {advice}")
    value = values[name]
    if not isinstance(value, type_) or isinstance(value, bool):
        raise DataError(f"{where}: field {full!r}: expected {_TYPE_NAMES[type_]}, found {type(value).__name__}")
    return value


_TYPE_NAMES = {list: "a list", str: "a text", int: "a whole number"}


def _text(values: Any, name: str, *, where: str, inside: str = "") -> str:
    text = _field(values, name, str, where=where, inside=inside)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{where}: field {name!r}: has half of a surrogate pair; write valid Unicode") from None
    return text


def write_squad_predictions(directory: Path, questions: Sequence[Question], answers: Sequence[Answer]) -> None:
    """Write the three files."""
    pairs = list(zip(questions, answers, strict=True))
    write_json(directory / PREDICTIONS, {question.id: answer.text for question, answer in pairs})
    write_json(directory / N_BEST, {question.id: _candidates(answer) for question, answer in pairs})
    odds = {question.id: answer.null_score for question, answer in pairs if answer.null_score is not None}
    if odds:
        write_json(directory / NULL_ODDS, odds)


def _candidates(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "text": each.text,
            "probability": each.probability,
            "start_log_prob": each.start_score,
            "end_log_prob": each.end_score,
        }
        for each in answer.n_best
    ]
