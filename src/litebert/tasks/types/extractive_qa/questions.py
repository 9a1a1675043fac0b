"""Questions about contexts."""

from collections.abc import Hashable
from dataclasses import dataclass

from litebert.tasks.labelled_data import normalized_text


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
