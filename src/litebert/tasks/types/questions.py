"""Questions about texts, in memory. Before: `squad_reader`, `squad_rows`. After: `squad_features`, `squad_metrics`."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData, as_read
from litebert.tasks.task_type import Kind


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """An answer as a person marked it."""

    text: str
    start: int
    """Its first character in the context, which holds `text` there."""

    @property
    def span(self) -> tuple[int, int]:
        """Half-open span of characters of the context."""
        return self.start, self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a text, and every answer that counts as right."""

    id: str
    text: str
    context: str
    answers: tuple[GoldAnswer, ...]
    """Empty where the context has no answer, and in a file without answers."""
    group: str | None = None
    """Questions of one group are never split between training and evaluation."""
    slice: str | None = None
    """Questions of one slice are also scored by themselves."""

    @property
    def key(self) -> Hashable:
        """Questions about one text stay together."""
        return self.group if self.group is not None else self.context

    @property
    def asked(self) -> Hashable:
        """What an uncased model reads; of two examples that agree in it one repeats or contradicts the other."""
        return as_read(self.context), as_read(self.text)

    @property
    def told(self) -> Hashable:
        """What is right; None where that is not known."""
        return tuple(sorted({as_read(answer.text) for answer in self.answers}))


def as_labelled(path: Path, questions: Sequence[Question], kind: Kind | None) -> LabelledData:
    """The questions of a file as `kind`; None takes "answerability" as soon as one of them has no answer."""
    without = [question for question in questions if not question.answers]
    if kind == "spans" and without:
        raise DataError(
            f"{path}: question {without[0].id!r} and {len(without) - 1} others have no answer, but 'spans' always "
            "answers; use the kind 'answerability', or remove them"
        )
    if kind is not None:
        return LabelledData(path, kind, tuple(questions), None, "as asked")
    if without:
        reason = f"{len(without)} of {len(questions)} questions have no answer"
        return LabelledData(path, "answerability", tuple(questions), None, reason)
    return LabelledData(path, "spans", tuple(questions), None, "every question has an answer")
