"""Labelled examples of every kind, as readers leave them. Before: a reader. After: `splits`, `encoded`."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from litebert.tasks.task_type import Kind
from litebert.tokenization.normalize import normalize

Target = int | float | tuple[float, ...]
"""Index of a label or an option, a score, or a 0 or 1 for each label."""
LETTERS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Names of the options of a multiple choice."""


@lru_cache(maxsize=1024)  # questions about one paragraph follow each other
def as_read(text: str) -> str:
    """What an uncased model, as the released ones are, reads of a text; it cannot tell those with the same apart."""
    return normalize(text, lowercase=True, keep_accents=False)


@dataclass(frozen=True, slots=True)
class Example:
    """A text, or a pair of texts."""

    text: str
    text_pair: str | None
    target: Target | None
    """None where the file holds no labels, as test files do."""
    group: str | None = None
    """Examples of one group (a document, a user) are never split between training and evaluation."""
    slice: str | None = None
    """Examples of one slice (a genre, a level) are also scored by themselves."""
    id: str | None = None
    """Name of the example in its file."""

    @property
    def key(self) -> Hashable:
        """Examples that agree in it stay together when a part is held out."""
        return self.group if self.group is not None else (self.text, self.text_pair)

    @property
    def asked(self) -> Hashable:
        """What an uncased model reads; of two examples that agree in it one repeats or contradicts the other."""
        return as_read(self.text), None if self.text_pair is None else as_read(self.text_pair)

    @property
    def told(self) -> Hashable:
        """What is right; None where that is not known."""
        return self.target


@dataclass(frozen=True, slots=True)
class ChoiceExample:
    """A text, perhaps a question about it, and options of which one is right."""

    text: str
    question: str | None
    options: tuple[str, ...]
    target: int | None
    """Index of the right option."""
    group: str | None = None
    slice: str | None = None
    id: str | None = None

    @property
    def key(self) -> Hashable:
        """Questions about one text stay together."""
        return self.group if self.group is not None else self.text

    @property
    def asked(self) -> Hashable:
        """What an uncased model reads; of two examples that agree in it one repeats or contradicts the other."""
        question = None if self.question is None else as_read(self.question)
        return as_read(self.text), question, tuple(map(as_read, self.options))

    @property
    def told(self) -> Hashable:
        """What is right; None where that is not known."""
        return self.target


@dataclass(frozen=True, slots=True)
class TaggedExample:
    """A sentence as words, each with a tag."""

    words: tuple[str, ...]
    tags: tuple[int, ...] | None
    """Index of each word's label; None where the file holds none."""
    group: str | None = None
    slice: str | None = None
    id: str | None = None

    @property
    def key(self) -> Hashable:
        """Sentences of the same words stay together."""
        return self.group if self.group is not None else self.words

    @property
    def asked(self) -> Hashable:
        """What an uncased model reads; of two examples that agree in it one repeats or contradicts the other."""
        return tuple(map(as_read, self.words))

    @property
    def told(self) -> Hashable:
        """What is right; None where that is not known."""
        return self.tags


@dataclass(frozen=True, slots=True)
class LabelledData:
    """The examples of one file, in its order."""

    path: Path
    kind: Kind
    examples: tuple[Any, ...]
    """`Example`s, or what the kind has instead."""
    labels: tuple[str, ...] | None
    """Label names by index; None where the answer is no class."""
    reason: str
    """Why the rows are taken as this kind."""
