"""Questions with options, encoded as one sequence for each option. Importing it loads no torch.

The text is the first segment; question and option are the second, of which the last tokens are kept, because they are
the option's. Source: `convert_single_example` in race_utils.py of google-research/albert.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from litebert.tasks.encoded import Encoded, Feature, PaddedArrays, build_feature, pad
from litebert.tasks.labelled_data import normalized_text
from litebert.tasks.results import LETTERS
from litebert.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    from litebert.tasks.input_settings import InputSettings


MAX_ANSWER_LENGTH: Final = 128
"""Most tokens of question and option."""
BLANK: Final = "_"
"""Placeholder in a question, to be replaced by the option."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoiceExample:
    """A text, optionally a question about it, and options of which one is correct."""

    text: str
    question: str | None
    options: tuple[str, ...]
    target: int | None = None
    """Index of the correct option."""
    group: str | None = None
    slice: str | None = None
    id: str | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """Text, question and options."""
        return self.text, self.question, *self.options

    @property
    def identity(self) -> tuple[Any, ...]:
        """Texts and target."""
        return *self.texts, self.target

    @property
    def split_key(self) -> Hashable:
        """Questions about one text stay together, as far as an uncased model reads."""
        return normalized_text(self.text)

    def to_text(self) -> str:
        """A line each for text, question and options."""
        options = (f"{letter}. {option}" for letter, option in zip(LETTERS, self.options, strict=False))
        return "\n".join([self.text, self.question or "", *options])


class Choices(Encoded):
    """C sequences for each example, as one feature."""

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest option, times the number of options."""
        return self.example_lengths * np.array([len(each) for each in self.features], dtype=np.int64)

    @cached_property
    def example_lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest option, with text and question."""
        return np.array([max(len(one.input_ids) for one in each) for each in self.features], dtype=np.int64)

    def arrays(self, indices: np.ndarray) -> PaddedArrays:
        """The examples at `indices`, padded to [B, C, S]."""
        chosen = [self.features[index] for index in indices]
        flat = pad(list(chain.from_iterable(chosen)), pad_id=self.pad_id)
        return PaddedArrays(*(each.reshape(len(chosen), len(chosen[0]), -1) for each in flat))


def encode_choices(examples: Sequence[ChoiceExample], tokenizer: Tokenizer, settings: InputSettings) -> Choices:
    """`[CLS] text [SEP] question with option [SEP]` of each option of each example."""
    texts = tokenizer.encode_batch([each.text for each in examples])
    answers = iter(
        tokenizer.encode_batch([fill_blank(each.question, option) for each in examples for option in each.options])
    )
    features = []
    for each, text in zip(examples, texts, strict=True):
        features.append(tuple(_feature(text, next(answers), tokenizer, settings.max_length) for _ in each.options))
    return Choices(features, [each.target for each in examples], tokenizer.pad_id)


def fill_blank(question: str | None, option: str) -> str:
    """The question with the option in its blank, or followed by the option."""
    if not question:
        return option
    return question.replace(BLANK, option) if BLANK in question else f"{question} {option}"


def _feature(text: Sequence[int], answer: Sequence[int], tokenizer: Tokenizer, max_length: int) -> Feature:
    """The last tokens of the answer and as many of the text's first tokens as fit."""
    limit = min(MAX_ANSWER_LENGTH, max_length - 3)
    is_truncated = len(answer) > limit or len(text) + len(answer) + 3 > max_length
    answer = answer[-limit:]
    feature = build_feature(text[: max_length - 3 - len(answer)], answer, tokenizer, max_length=max_length)
    return replace(feature, is_truncated=is_truncated)
