"""Does an answer stand where its file says? Before: a reader. After: `squad_data`, with every answer in its context.

A start that is off by a few characters is mended and said; what cannot be mended is refused, or left out and counted.
"""

import logging
from pathlib import Path
from typing import Literal

from litebert.errors import DataError
from litebert.tasks.types.questions import GoldAnswer

logger = logging.getLogger(__name__)

BadAnswers = Literal["refuse", "skip"]
"""What to do with an answer that is not in its text: stop with a DataError, or leave it out and say how many."""

NEARBY = 10
"""Characters by which a start may be off. Annotation tools miss by one or two; further away it is another mention."""


class AnswerPlacer:
    """Places the answers of one file, and counts what it had to change."""

    def __init__(self, path: Path, invalid_answers: BadAnswers) -> None:
        self.moved = 0
        self.ambiguous = 0
        self.skipped = 0
        self._path = path
        self._on_bad_answer = invalid_answers
        self._first: dict[str, str] = {}

    def place(self, text: str, start: int | None, context: str, *, where: str, field: str) -> GoldAnswer | None:
        """The answer where it stands in `context`; None if it is to be skipped.

        `where` begins every message, `field` names what holds the start or the text. `start` None takes the first
        occurrence.
        """
        if not text.strip():
            return self._bad(f"{where}: field {field!r}: a blank answer; write it, or mark the question impossible")
        if start is None:
            return self._first_occurrence(text, context, where=where, field=field)
        if start >= 0 and context.startswith(text, start):
            return GoldAnswer(text, start)
        found = nearest(text, context, start)
        if found is None:
            return self._bad(f"{where}: field {field!r}: the answer {_short(text)} is not in the context; correct it")
        if abs(found - start) > NEARBY:
            return self._bad(
                f"{where}: field {field!r}: {start}, but the answer {_short(text)} stands at {found}, too far to be "
                f"a slip; correct the start"
            )
        self.moved += 1
        self._first.setdefault("moved", f"{where}: {start} became {found}")
        return GoldAnswer(text, found)

    def report(self) -> None:
        """Say what was changed, once for the whole file."""
        if self.moved:
            logger.warning("%s: %d answers moved to where they stand, at most %d characters away (first: %s)",
                           self._path, self.moved, NEARBY, self._first["moved"])  # fmt: skip
        if self.ambiguous:
            logger.warning("%s: %d answers without a start occur more than once; the first occurrence is taken (%s)",
                           self._path, self.ambiguous, self._first["ambiguous"])  # fmt: skip
        if self.skipped:
            logger.warning("%s: %d answers left out as asked (first: %s)",
                           self._path, self.skipped, self._first["skipped"])  # fmt: skip

    def _first_occurrence(self, text: str, context: str, *, where: str, field: str) -> GoldAnswer | None:
        start = context.find(text)
        if start < 0:
            return self._bad(f"{where}: field {field!r}: the answer {_short(text)} is not in the context; correct it")
        if context.find(text, start + 1) >= 0:
            self.ambiguous += 1
            self._first.setdefault("ambiguous", f"{where}: {_short(text)}")
        return GoldAnswer(text, start)

    def _bad(self, message: str) -> None:
        if self._on_bad_answer == "refuse":
            raise DataError(message)
        self.skipped += 1
        self._first.setdefault("skipped", message)


def nearest(text: str, context: str, start: int) -> int | None:
    """The occurrence of `text` that begins nearest to `start`, the earlier one on a tie; None without any."""
    start = min(max(start, 0), len(context))
    found = (context.rfind(text, 0, start + len(text)), context.find(text, start))
    return min((each for each in found if each >= 0), key=lambda each: abs(each - start), default=None)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
