"""How questions are encoded and answers chosen; the defaults are the flags of run_squad_v1.py and run_squad_v2.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, Self

import numpy as np
from pydantic import Field

from litebert.files import QUESTION_SETTINGS
from litebert.tasks.input_settings import InputSettings

THRESHOLD: Final = "no_answer_threshold"
"""The metric that holds the threshold of an evaluation."""


@dataclass(frozen=True, slots=True)
class NoAnswerThreshold:
    """A question whose null score is greater than `value` has no answer."""

    value: float
    source: Literal["given", "model", "default"]
    """Whether it was given, is the one in the model directory, or neither."""

    def to_text(self) -> str:
        """The value and its source."""
        return f"{self.value:.4f} ({_SOURCES[self.source]})"


_SOURCES: Final = {"given": "as given", "model": "chosen in fine-tuning", "default": "default, none was chosen"}


class QuestionSettings(InputSettings):
    """How questions and contexts become sequences, and scores become answers."""

    file: ClassVar[str] = QUESTION_SETTINGS
    max_length: int = Field(default=384, ge=8)
    """Longest sequence in tokens: `[CLS] question [SEP] part of the context [SEP]`."""
    doc_stride: int = Field(default=128, gt=0)
    """Tokens from the start of one window over a long context to the start of the next."""
    max_query_length: int = Field(default=64, gt=0)
    """Longest question in tokens; longer ones are truncated. At most half of `max_length` is used."""
    n_best: int = Field(default=20, gt=0)
    """Candidate answers of a question; a model without beams also combines this many starts and ends."""
    max_answer_length: int = Field(default=30, gt=0)
    """Longest answer in tokens."""
    no_answer_threshold: float | None = None
    """A question whose null score is greater has no answer; null until it is chosen on labelled data."""

    @classmethod
    def default(cls, max_length: int) -> Self:
        """The defaults of the original, for a model that reads `max_length` tokens."""
        return cls(max_length=min(max_length, cls().max_length))

    @classmethod
    def of_ensemble(cls, members: Sequence[Self]) -> Self:
        """The settings of the first member, with the mean threshold if all members have one."""
        thresholds = [member.no_answer_threshold for member in members]
        chosen = [threshold for threshold in thresholds if threshold is not None]
        mean = float(np.mean(chosen)) if len(chosen) == len(thresholds) else None
        return members[0].model_copy(update={"no_answer_threshold": mean})

    def of_encoding(self) -> Self:
        """The settings without the threshold, which is chosen for each model."""
        return self.model_copy(update={THRESHOLD: None})

    def with_metrics(self, metrics: Mapping[str, float]) -> Self:
        """The settings with the threshold of an evaluation, if it has one."""
        return self.model_copy(update={"no_answer_threshold": metrics.get(THRESHOLD)})

    def threshold(self, given: float | None = None) -> NoAnswerThreshold:
        """The threshold for prediction: `given`, the one chosen in fine-tuning, or 0, where both are equally likely."""
        if given is not None:
            return NoAnswerThreshold(given, "given")
        chosen = self.no_answer_threshold
        return NoAnswerThreshold(0.0, "default") if chosen is None else NoAnswerThreshold(chosen, "model")
