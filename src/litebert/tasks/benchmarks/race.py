"""RACE: reading comprehension with four options.

Each file in a level's folder has a passage with its questions as JSON. A file may also have one such object a line, as
google-research/albert expects (`all.txt`).
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from litebert.errors import DataError
from litebert.tasks.readers.text_files import iter_lines, read_text
from litebert.tasks.results import LETTERS
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample

NUM_OPTIONS: Final = 4
_FIELDS: Final = ("article", "questions", "options", "answers")


def read_race(directory: Path, levels: Sequence[str]) -> tuple[ChoiceExample, ...]:
    """Every question of these levels, in the order of files; DataError with file and field where one is malformed."""
    examples = []
    seen: dict[str, Path] = {}
    for level in levels:
        files = sorted((directory / level).glob("*.txt"), key=_number)
        if not files:
            raise DataError(f"{directory / level}: no .txt files; give the directory with train, dev and test")
        for path in files:
            for line, passage in _passages(path):
                name = str(passage.get("id", f"{level}/{path.name}:{line}"))
                if name in seen:
                    raise DataError(f"{path}:{line}: field 'id': {name!r} is also that of {seen[name]}; remove one")
                seen[name] = path
                examples += _questions(passage, level, name, where=f"{path}:{line}")
    return tuple(examples)


def _passages(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and content of each object in a file."""
    text = read_text(path)
    try:
        yield 1, _object(json.loads(text), where=f"{path}:1")
        return
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
    for number, line in enumerate(iter_lines(path), start=1):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}:{number}: not valid JSON ({error}); download the file again") from None
        yield number, _object(content, where=f"{path}:{number}")


def _object(content: Any, *, where: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise DataError(f"{where}: expected a JSON object, found {type(content).__name__}")
    for name in _FIELDS:
        if name not in content:
            raise DataError(f"{where}: field {name!r}: missing; download the file again")
    return content


def _questions(passage: dict[str, Any], level: str, name: str, *, where: str) -> list[ChoiceExample]:
    questions, options, answers = passage["questions"], passage["options"], passage["answers"]
    if not isinstance(passage["article"], str):
        raise DataError(f"{where}: field 'article': expected a text")
    if not isinstance(questions, list):
        raise DataError(f"{where}: field 'questions': expected a list, found {type(questions).__name__}")
    for field, values in (("options", options), ("answers", answers)):
        if not isinstance(values, list) or len(values) != len(questions):
            raise DataError(f"{where}: field {field!r}: expected one for each of {len(questions)} questions")
    examples = []
    for index, (question, choices, answer) in enumerate(zip(questions, options, answers, strict=True)):
        place = f"{where}: question {index}"
        if not isinstance(choices, list) or len(choices) != NUM_OPTIONS:
            found = len(choices) if isinstance(choices, list) else type(choices).__name__
            raise DataError(f"{place}: field 'options': {found} options, expected {NUM_OPTIONS}")
        if not all(isinstance(text, str) for text in (question, answer, *choices)):
            raise DataError(f"{place}: field 'options': question, options and answer must be texts")
        if answer not in tuple(LETTERS[:NUM_OPTIONS]):
            raise DataError(f"{place}: field 'answers': expected a letter from A to D, found {answer!r}")
        examples.append(
            ChoiceExample(
                text=passage["article"],
                question=question,
                options=tuple(choices),
                target=LETTERS.index(answer),
                group=name,
                slice=level,
                id=f"{name}-{index}",
            )
        )
    return examples


def _number(path: Path) -> tuple[int, str]:
    digits = re.match(r"\d+", path.stem)
    return (int(digits[0]) if digits else -1, path.name)
