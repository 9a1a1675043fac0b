"""Multiple choice as the model reads it: a sequence for each option. Before: `labelled`, a tokenizer. After: `kinds`.

Source: `convert_single_example` of the original race_utils.py. The text is the first segment; question and option
are the second, of which the last pieces are kept, since that is where the option is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import torch

from litebert.tasks.encoded import digest
from litebert.tasks.features import Feature, Inputs, LabelledBatch, pad
from litebert.tasks.labelled_data import ChoiceExample
from litebert.tokenization.tokenizer import Tokenizer

LONGEST_ANSWER: Final = 128
"""Pieces of question and option that are kept."""
BLANK: Final = "_"


@dataclass(frozen=True)
class Choices:
    """The `Encoded` of multiple choice: C sequences for each example."""

    features: Sequence[tuple[Feature, ...]]
    targets: Sequence[int | None]
    pad_id: int

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest option, times the number of options."""
        return np.array([len(each) * max(len(one.input_ids) for one in each) for each in self.features], dtype=np.int64)

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
        """Some examples, padded to [B, C, S]."""
        chosen = [self.features[index] for index in indices]
        flat = pad(list(chain.from_iterable(chosen)), pad_id=self.pad_id)
        shape = (len(chosen), len(chosen[0]), -1)
        return Inputs(flat.input_ids.view(shape), flat.attention_mask.view(shape), flat.token_type_ids.view(shape))

    def batch(self, indices: np.ndarray) -> LabelledBatch:
        """Labels are Int64 [B], indices of options."""
        inputs = self.inputs(indices)
        labels = torch.tensor([self.targets[index] for index in indices])
        return LabelledBatch(inputs, labels, num_tokens=int(inputs.attention_mask.sum()))


def encode_choices(examples: Sequence[ChoiceExample], tokenizer: Tokenizer, *, max_length: int) -> Choices:
    """`[CLS] text [SEP] question with option [SEP]` of each option of each example."""
    texts = tokenizer.encode_batch([each.text for each in examples])
    answers = iter(tokenizer.encode_batch([filled(each.question, one) for each in examples for one in each.options]))
    features = []
    for each, text in zip(examples, texts, strict=True):
        features.append(tuple(_joined(text, next(answers), tokenizer, max_length) for _ in each.options))
    return Choices(features, [each.target for each in examples], tokenizer.pad_id)


def filled(question: str | None, option: str) -> str:
    """The question with the option in its blank, or with the option behind it."""
    if not question:
        return option
    return question.replace(BLANK, option) if BLANK in question else f"{question} {option}"


def _joined(text: Sequence[int], answer: Sequence[int], tokenizer: Tokenizer, max_length: int) -> Feature:
    """The last pieces of the answer, and as many of the text's first as fit."""
    answer = answer[-min(LONGEST_ANSWER, max_length - 3) :]
    text = text[: max_length - 3 - len(answer)]
    encoding = tokenizer.build_inputs(text, answer, max_length=max_length)
    return Feature(np.asarray(encoding.input_ids, np.int32), np.asarray(encoding.token_type_ids, np.int8))
