"""Questions with options, encoded as one sequence for each option.

Source: `convert_single_example` in race_utils.py of google-research/albert. The text is the first segment; question and
option are the second, of which the last tokens are kept, because they are the option's.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np
import torch

from litebert.tasks.encoded import Feature, Inputs, LabelledBatch, build_feature, digest, pad
from litebert.tasks.input_settings import InputSettings
from litebert.tokenization.tokenizer import Tokenizer

LETTERS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Names of the options."""
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
    def split_key(self) -> Hashable:
        """Questions about one text stay together."""
        return self.text


@dataclass(frozen=True)
class Choices:
    """The `Encoded` of multiple choice: C sequences for each example."""

    features: Sequence[tuple[Feature, ...]]
    targets: Sequence[int | None]
    pad_id: int

    @property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest option, times the number of options."""
        return self.example_lengths * np.array([len(each) for each in self.features], dtype=np.int64)

    @cached_property
    def example_lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest option, with text and question."""
        return np.array([max(len(one.input_ids) for one in each) for each in self.features], dtype=np.int64)

    @property
    def num_examples(self) -> int:
        """N."""
        return len(self)

    @property
    def fingerprint(self) -> str:
        """Digest of ids and targets."""
        return digest(chain.from_iterable(self.features), self.targets)

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.features)

    def inputs(self, indices: np.ndarray) -> Inputs:
        """The examples at `indices`, padded to [B, C, S]."""
        chosen = [self.features[index] for index in indices]
        flat = pad(list(chain.from_iterable(chosen)), pad_id=self.pad_id)
        shape = (len(chosen), len(chosen[0]), -1)
        return Inputs(flat.input_ids.view(shape), flat.attention_mask.view(shape), flat.token_type_ids.view(shape))

    def batch(self, indices: np.ndarray) -> LabelledBatch:
        """Labels are Int64 [B], indices of options."""
        inputs = self.inputs(indices)
        labels = torch.tensor([self.targets[index] for index in indices])
        return LabelledBatch(inputs, labels, num_tokens=int(inputs.attention_mask.sum()))

    def by_example(self, outputs: Sequence[Any]) -> Sequence[Any]:
        """The outputs themselves."""
        return outputs


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
    answer = answer[-min(MAX_ANSWER_LENGTH, max_length - 3) :]
    return build_feature(text[: max_length - 3 - len(answer)], answer, tokenizer, max_length=max_length)
