"""The task type `multiple_choice`: the best of several options, as in RACE.

Each option is encoded as one sequence. The text is the first segment; question and option are the second, of which the
last tokens are kept, because they are the option's. Source: `convert_single_example` in race_utils.py of
google-research/albert.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np

from litebert.errors import DataError
from litebert.tasks.encoded import Encoded, Feature, Inputs, build_feature, pad
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.types.classification.classification import (
    LETTERS,
    class_collapse,
    class_errors,
    class_losses,
    class_probabilities,
    evaluate_classes,
)
from litebert.tasks.types.task_type import (
    CardEntry,
    ExampleReader,
    Loss,
    ReadOptions,
    ReadResult,
    Result,
    TaskType,
)
from litebert.tokenization.tokenizer import Tokenizer

MIN_OPTIONS: Final = 2
_NUMBERED: Final = re.compile(r"(option|choice|answer|ending)[ _]?(\d|[a-e])", re.IGNORECASE)
_LISTS: Final = ("options", "choices", "endings")
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

    def to_text(self) -> str:
        """A line each for text, question and options."""
        options = (f"{letter}. {option}" for letter, option in zip(LETTERS, self.options, strict=False))
        return "\n".join([self.text, self.question or "", *options])


@dataclass(frozen=True, slots=True)
class Choice(Result):
    """The best option."""

    index: int
    """From 0."""
    probability: float
    probabilities: tuple[float, ...]

    @property
    def letter(self) -> str:
        """A for the first option."""
        return LETTERS[self.index]

    def to_record(self) -> dict[str, Any]:
        """Letter and probabilities."""
        return {"prediction": self.letter, "probability": self.probability, "probabilities": list(self.probabilities)}


def _guess(table: Table, columns: Columns) -> str | None:
    names = columns.options or option_columns(table)
    return f"there are columns of options: {', '.join(names)}" if names else None


def _decode(probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: InputSettings) -> Choice:
    return Choice(int(probabilities.argmax()), float(probabilities.max()), tuple(probabilities.tolist()))


def option_columns(table: Table) -> tuple[str, ...]:
    """Columns with the names of options: `option1`, `choice_b`, …, or one named `options` with lists."""
    numbered = tuple(name for name in table.columns if _NUMBERED.fullmatch(name))
    lists = tuple(name for name in _LISTS if isinstance(table.rows[0].values.get(name), list))
    return numbered if len(numbered) >= MIN_OPTIONS else lists[:1]


def read_choices(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    """The rows with their correct options; DataError where options are missing or the label is none of them."""
    label = columns.names().label
    inputs = read_choice_inputs(table, columns)
    targets = [
        correct_option(value, example.options, where=f"{table.path}:{row.line}: field {label!r}")
        for row, value, example in zip(table.rows, table.texts(label), inputs, strict=True)
    ]
    groups, slices = group_and_slice(table, columns)
    examples = tuple(
        replace(example, target=target, group=group, slice=slice_)
        for example, target, group, slice_ in zip(inputs, targets, groups, slices, strict=True)
    )
    return ReadResult(examples=examples, lines=[row.line for row in table.rows])


def read_choice_inputs(table: Table, columns: Columns) -> list[ChoiceExample]:
    """The rows without their correct options."""
    given = options_of(table, columns.options or option_columns(table))
    texts = table.texts(columns.names().text)
    questions = table.texts(columns.text_pair) if columns.text_pair else [None] * len(texts)
    return [
        ChoiceExample(text=text, question=question, options=options)
        for text, question, options in zip(texts, questions, given, strict=True)
    ]


def correct_option(value: str, options: Sequence[str], *, where: str) -> int:
    """Index of the option that `value` names: a letter from A, a number from 0, or the option itself."""
    value = value.strip()
    letters = LETTERS[: len(options)]
    if value in letters:
        return letters.index(value)
    if value.isascii() and value.isdigit() and int(value) < len(options):
        return int(value)
    if options.count(value) == 1:
        return options.index(value)
    raise DataError(
        f"{where}: {value!r} is none of the {len(options)} options; "
        f"give a letter from {letters[0]} to {letters[-1]}, a number from 0 to {len(options) - 1}, or an option's text"
    )


def options_of(table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The options of each row, equally many in all rows, from these columns or from one column with lists."""
    if not columns:
        raise DataError(f"{table.path}: no columns with options, such as option1, option2, …; name them (--options)")
    for name in columns:
        table.texts(name, lists=True)  # raises for a missing column
    rows = [_row_options(table, row, columns) for row in table.rows]
    for row, options in zip(table.rows, rows, strict=True):
        where = f"{table.path}:{row.line}: field {columns[0]!r}"
        if not MIN_OPTIONS <= len(options) == len(rows[0]) <= len(LETTERS):
            expected = len(rows[0]) if len(rows[0]) >= MIN_OPTIONS else f"{MIN_OPTIONS} or more"
            raise DataError(f"{where}: {len(options)} options, expected {expected}")
        if not all(option.strip() for option in options):
            raise DataError(f"{where}: an option is empty; fill it or remove the row")
    return rows


def _row_options(table: Table, row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    values = [row.values[name] for name in columns]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if not all(isinstance(value, str | int | float) for value in values):
        raise DataError(f"{table.path}:{row.line}: field {columns[0]!r}: expected texts, found {values!r:.60}")
    return tuple(map(str, values))


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

    def inputs(self, indices: np.ndarray) -> Inputs:
        """The examples at `indices`, padded to [B, C, S]."""
        chosen = [self.features[index] for index in indices]
        flat = pad(list(chain.from_iterable(chosen)), pad_id=self.pad_id)
        shape = (len(chosen), len(chosen[0]), -1)
        return Inputs(flat.input_ids.view(shape), flat.attention_mask.view(shape), flat.token_type_ids.view(shape))


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


MULTIPLE_CHOICE: Final = TaskType(
    name="multiple_choice",
    model="ForMultipleChoice",
    metrics=("accuracy",),
    reader=ExampleReader(
        guess=_guess, read=read_choices, read_inputs=read_choice_inputs, input_columns=("text", "text_pair", "options")
    ),
    encode=encode_choices,
    loss=Loss(sums=class_losses),
    predict=class_probabilities,
    decode=_decode,
    evaluate=evaluate_classes,
    error_examples=class_errors,
    collapse=class_collapse,
    card=CardEntry(
        title="An ALBERT for multiple choice",
        pipeline_tag="multiple-choice",
        method="multiple_choice",
        argument='[("a text", "a question", ["an option", "another"])]',
        pair_argument=None,
    ),
)
