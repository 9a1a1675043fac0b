"""Sentences as words, encoded so that the first token of each word carries its label.

A sentence too long for the model becomes several sequences, split between words, so that every word is predicted.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from litebert.errors import ConfigError, DataError
from litebert.model.losses import NO_LABEL
from litebert.tasks.encoded import Encoded, Feature, Inputs
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.tables import Row, Table, did_you_mean
from litebert.tasks.types.task_type import ReadOptions, ReadResult
from litebert.tokenization.tokenizer import Tokenizer

NUM_SPECIAL_TOKENS: Final = 2
OUTSIDE: Final = "O"
"""Label of a word outside every entity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenExample:
    """A sentence as words, each with a label."""

    words: tuple[str, ...]
    target: tuple[int, ...] | None = None
    """Index of each word's label."""
    group: str | None = None
    slice: str | None = None
    id: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The words."""
        return self.words

    @property
    def split_key(self) -> Hashable:
        """Sentences of the same words stay together."""
        return self.words


@dataclass(frozen=True)
class TokenSequences(Encoded):
    """One or more sequences of whole words for each example."""

    words: Sequence[tuple[int, np.ndarray]]
    """Of each sequence: index of its example, and Int64 [W], position of the first token of each word."""
    num_words: Sequence[int]
    """Words of each example."""

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64: words of each example."""
        return np.array(self.num_words)

    def labels(self, indices: np.ndarray, inputs: Inputs) -> Tensor:
        """Int64 [B, S], -100 except at the first token of each word."""
        labels = torch.full_like(inputs.input_ids, NO_LABEL)
        for row, index in enumerate(indices):
            labels[row, torch.from_numpy(self.words[index][1])] = torch.tensor(self.targets[index])
        return labels

    def by_example(self, outputs: Sequence[Any]) -> Sequence[np.ndarray]:
        """[W, C] for each example, from [S, C] for each sequence: the outputs at the first tokens of its words."""
        words: list[list[np.ndarray]] = [[] for _ in self.num_words]
        for (example, first_tokens), output in zip(self.words, outputs, strict=True):
            words[example].append(output[first_tokens])
        return [np.concatenate(each) for each in words]


def encode_words(examples: Sequence[TokenExample], tokenizer: Tokenizer, settings: InputSettings) -> TokenSequences:
    """`[CLS] words [SEP]` of each example, in several sequences if it is too long."""
    budget = settings.max_length - NUM_SPECIAL_TOKENS
    if budget < 1:
        raise ConfigError(f"max_length: {settings.max_length} is too short for a word; set it to 3 or more")
    ids = iter(tokenizer.encode_batch([word for each in examples for word in each.words]))
    features, targets, positions = [], [], []
    for index, each in enumerate(examples):
        # A word from which the tokenizer makes no token still needs a prediction.
        words = [next(ids)[:budget] or [tokenizer.unk_id] for _ in each.words]
        for start, end in _split([len(word) for word in words], budget=budget):
            sequence = [tokenizer.cls_id, *chain.from_iterable(words[start:end]), tokenizer.sep_id]
            features.append(Feature(np.array(sequence, np.int32), np.zeros(len(sequence), np.int8)))
            targets.append(None if each.target is None else each.target[start:end])
            positions.append((index, 1 + np.cumsum([0, *(len(word) for word in words[start : end - 1])])))
    return TokenSequences(features, targets, tokenizer.pad_id, positions, [len(each.words) for each in examples])


def _split(lengths: Sequence[int], *, budget: int) -> Iterator[tuple[int, int]]:
    """Half-open spans of words that fit into `budget` tokens each."""
    start, used = 0, 0
    for index, length in enumerate(lengths):
        if used + length > budget:
            yield start, index
            start, used = index, 0
        used += length
    yield start, len(lengths)


def guess_token_lists(table: Table, columns: Columns) -> str | None:
    """Why the rows are labelled words: both columns of the first row have lists."""
    names = columns.names()
    if all(isinstance(table.rows[0].values.get(name), list) for name in (names.text, names.label)):
        return f"the column {names.text!r} holds lists of words"
    return None


def read_token_lists(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    """The rows with their labels."""
    text, label = columns.names().text, columns.names().label
    table.texts(text, lists=True), table.texts(label, lists=True)  # raise for missing values
    rows = [(_list(table, row, text), _list(table, row, label)) for row in table.rows]
    for row, (words, tags) in zip(table.rows, rows, strict=True):
        if len(words) != len(tags) or not words:
            raise DataError(f"{table.path}:{row.line}: field {label!r}: {len(tags)} labels for {len(words)} words")
    labels = tuple(options.labels or token_labels(tag for _, tags in rows for tag in tags))
    known = {name: index for index, name in enumerate(labels)}
    groups, slices = group_and_slice(table, columns)
    examples = []
    for row, (words, tags), group, slice_ in zip(table.rows, rows, groups, slices, strict=True):
        where = f"{table.path}:{row.line}: field {label!r}"
        target = tuple(label_index(tag, known, where=where) for tag in tags)
        examples.append(TokenExample(words=words, target=target, group=group, slice=slice_))
    return ReadResult(examples=examples, labels=labels, lines=[row.line for row in table.rows])


def read_words(table: Table, columns: Columns) -> list[TokenExample]:
    """The rows without labels: lists of words, or texts split at spaces."""
    column, examples = columns.names().text, []
    for row, text in zip(table.rows, table.texts(column, lists=True), strict=True):
        value = row.values[column]
        words = tuple(map(str, value)) if isinstance(value, list) else tuple(text.split())
        if not words:
            raise DataError(f"{table.path}:{row.line}: field {column!r}: has no words; remove the row")
        examples.append(TokenExample(words=words))
    return examples


def token_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels, `O` first."""
    return tuple(sorted(set(labels), key=lambda label: (label != OUTSIDE, label)))


def label_index(label: str, known: Mapping[str, int], *, where: str) -> int:
    """The index of a label; DataError for an unknown one."""
    if label not in known:
        raise DataError(
            f"{where}: unknown label {label!r}{did_you_mean(label, known)}; the labels of training are "
            f"{', '.join(known)}"
        )
    return known[label]


def _list(table: Table, row: Row, column: str) -> tuple[str, ...]:
    value: Any = row.values[column]
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise DataError(f"{table.path}:{row.line}: field {column!r}: expected a list of non-empty texts")
    return tuple(value)
