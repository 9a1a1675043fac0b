"""Questions about contexts; each answer is aligned with its context.

An answer must occur in its context where the file says; an empty one means that the context has none. A start that is
off by a few characters is corrected. Other mismatches are errors, or skipped and counted.
"""

import logging
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.errors import DataError
from litebert.tasks.labelled_data import InvalidAnswers, normalized_text

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
    def identity(self) -> tuple[Any, ...]:
        """Texts, and the answers with their places."""
        return *self.texts, *((answer.text, answer.start) for answer in self.answers)

    @property
    def split_key(self) -> Hashable:
        """Questions about one context stay together, as far as an uncased model reads."""
        return normalized_text(self.context)


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
