"""Checks that each answer occurs in its context where the file says.

A start that is off by a few characters is corrected. Other mismatches are errors, or skipped and counted.
"""

import logging
from pathlib import Path

from litebert.errors import DataError
from litebert.tasks.types.extractive_qa.questions import GoldAnswer
from litebert.tasks.types.task_type import InvalidAnswers

logger = logging.getLogger(__name__)

MAX_OFFSET = 10
"""Most characters by which a start may be off. Annotation tools miss by one or two; further away is another mention."""


class AnswerAligner:
    """Aligns the answers of one file and counts its corrections."""

    def __init__(self, path: Path, invalid_answers: InvalidAnswers) -> None:
        self.corrected = 0
        self.ambiguous = 0
        self.skipped = 0
        self._path = path
        self._invalid_answers = invalid_answers
        self._first: dict[str, str] = {}

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
        self.corrected += 1
        self._first.setdefault("corrected", f"{where}: {start} → {found}")
        return GoldAnswer(text=text, start=found)

    def report(self) -> None:
        """Log the corrections, once for the whole file."""
        if self.corrected:
            logger.warning("%s: corrected the start of %d answers by at most %d characters (first: %s)",
                           self._path, self.corrected, MAX_OFFSET, self._first["corrected"])  # fmt: skip
        if self.ambiguous:
            logger.warning("%s: %d answers without a start occur more than once; used the first occurrence (%s)",
                           self._path, self.ambiguous, self._first["ambiguous"])  # fmt: skip
        if self.skipped:
            logger.warning("%s: skipped %d invalid answers (first: %s)",
                           self._path, self.skipped, self._first["skipped"])  # fmt: skip

    def _first_occurrence(self, text: str, context: str, *, where: str, field: str) -> GoldAnswer | None:
        start = context.find(text)
        if start < 0:
            return self._invalid(
                f"{where}: field {field!r}: the answer {_short(text)} is not in the context; correct it"
            )
        if context.find(text, start + 1) >= 0:
            self.ambiguous += 1
            self._first.setdefault("ambiguous", f"{where}: {_short(text)}")
        return GoldAnswer(text=text, start=start)

    def _invalid(self, message: str) -> None:
        if self._invalid_answers == "error":
            raise DataError(message)
        self.skipped += 1
        self._first.setdefault("skipped", message)


def nearest(text: str, context: str, start: int) -> int | None:
    """The occurrence of `text` nearest to `start`, the earlier one on a tie; None if there is none."""
    start = min(max(start, 0), len(context))
    found = (context.rfind(text, 0, start + len(text)), context.find(text, start))
    return min((each for each in found if each >= 0), key=lambda each: abs(each - start), default=None)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
