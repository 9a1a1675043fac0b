"""How questions are read and answers chosen. Before: a run. After: `squad_features`, a model directory.

The defaults are the original's flags (run_squad_v1.py, run_squad_v2.py).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from litebert.files import read_json_object
from litebert.settings import Settings

FILE: Final = "question_answering.json"
"""Where a model directory keeps the settings that its model was trained with."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A question whose null score is greater than `value` has no answer."""

    value: float
    source: Literal["given", "kept", "default"]
    """Whether it was asked for, is that of the model directory, or neither."""

    def to_text(self) -> str:
        """The value, and where it is from."""
        return f"{self.value:.4f}, {_SOURCES[self.source]}"


_SOURCES: Final = {"given": "as given", "kept": "kept with the model", "default": "since none was chosen"}


class QuestionSettings(Settings):
    """From a question and its context to sequences, and from scores to an answer."""

    max_length: int = Field(default=384, ge=8)
    """Longest sequence in tokens: `[CLS] question [SEP] part of the context [SEP]`."""
    stride: int = Field(default=128, gt=0)
    """Pieces from the beginning of one window over a long context to that of the next."""
    max_query_length: int = Field(default=64, gt=0)
    """Pieces of the question that are kept, its first ones; never more than half of `max_length`."""
    n_best: int = Field(default=20, gt=0)
    """Answers to list for a question; a model without beams also pairs as many starts with as many ends."""
    max_answer_length: int = Field(default=30, gt=0)
    """Longest answer in pieces."""
    no_answer_threshold: float | None = None
    """A question whose null score is greater has no answer; null while it is still to be chosen on labelled data."""

    def to_bytes(self) -> bytes:
        """The content of `FILE`."""
        return (json.dumps(self.to_dict(), indent=2) + "\n").encode()

    def threshold(self, given: float | None = None) -> Threshold:
        """The threshold to predict with: `given`, or the kept one, or 0, where both answers are equally likely."""
        if given is not None:
            return Threshold(given, "given")
        kept = self.no_answer_threshold
        return Threshold(0.0, "default") if kept is None else Threshold(kept, "kept")


def stored_settings(directory: Path, *, longest: int) -> QuestionSettings:
    """The settings in a model directory; without any, the defaults, for sequences no longer than `longest`."""
    path = directory / FILE
    if not path.exists():
        return QuestionSettings(max_length=min(longest, QuestionSettings().max_length))
    values = read_json_object(path, if_missing="take a fresh copy of the model directory")
    return QuestionSettings.parse(values, where=str(path))
