"""The task type `multiple_choice`: the best of several options, as in RACE."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from litebert.errors import DataError
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.prediction_files.prediction_columns import PredictionReader, filled_texts, with_probabilities
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.label_columns import non_empty_labels
from litebert.tasks.readers.option_columns import MIN_OPTIONS, is_option_column, option_columns
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.results import LETTERS
from litebert.tasks.types.built_in_inference import CHOOSE
from litebert.tasks.types.classification.classification import (
    class_collapse,
    class_errors,
    class_losses,
    evaluate_classes,
)
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample
from litebert.tasks.types.task_type import CardEntry, ExampleReader, Loss, ReadOptions, ReadResult, TaskType


def _guess(table: Table, columns: Columns) -> str | None:
    names = columns.options or option_columns(table)
    return f"there are columns of options: {', '.join(names)}" if names else None


def read_choices(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    """The rows with their correct options; DataError where options are missing or the label is none of them."""
    label = columns.label_name
    inputs = read_choice_inputs(table, columns)
    values, rows = non_empty_labels(table, label), [example.options for example in inputs]
    places = [f"{table.path}:{row.line}: field {label!r}" for row in table.rows]
    targets = correct_options(values, rows, places=places)
    groups, slices = group_and_slice(table, columns)
    examples = tuple(
        replace(example, target=target, group=group, slice=slice_)
        for example, target, group, slice_ in zip(inputs, targets, groups, slices, strict=True)
    )
    return ReadResult(examples=examples, lines=[row.line for row in table.rows])


def read_choice_inputs(table: Table, columns: Columns) -> list[ChoiceExample]:
    """The rows without their correct options."""
    given = options_of(table, columns.options or option_columns(table))
    texts = table.texts(columns.text_name)
    questions = table.texts(columns.text_pair) if columns.text_pair else [None] * len(texts)
    return [
        ChoiceExample(text=text, question=question, options=options)
        for text, question, options in zip(texts, questions, given, strict=True)
    ]


def correct_options(values: Sequence[str], rows: Sequence[Sequence[str]], *, places: Sequence[str]) -> list[int]:
    """Index of the option that each value names, all of them in the same way if one way fits all rows.

    So "2" is the option with the text "2" in a column of such texts, and the third option in a column of numbers.

    Raises:
        DataError: a value names no option, or one by its text and another by its letter or number.
    """
    read = [readings(value, options) for value, options in zip(values, rows, strict=True)]
    ways = set.intersection(*map(set, read)) if read else set()
    targets = []
    for value, options, found, where in zip(values, rows, read, places, strict=True):
        indices = {index for way, index in found.items() if way in ways or not ways}
        if not indices:
            last = len(options) - 1
            raise DataError(
                f"{where}: {value!r} is none of the {len(options)} options; give a letter from {LETTERS[0]} to "
                f"{LETTERS[last]}, a number from 0 to {last}, or an option's text"
            )
        if len(indices) > 1:
            raise DataError(
                f"{where}: {value!r} is the text of one option and the letter or number of another; give letters "
                "for all rows, or texts"
            )
        targets.append(indices.pop())
    return targets


def _read_predictions(table: Table, column: str, data: LabelledData) -> list[np.ndarray]:
    """Probabilities of the options for each row, float64 [C]; letters, numbers or texts name the predicted ones."""
    values, options = filled_texts(table, column), [example.options for example in data.examples]
    places = [f"{table.path}:{row.line}: field {column!r}" for row in table.rows]
    return with_probabilities(table, correct_options(values, options, places=places), LETTERS[: len(options[0])])


def readings(value: str, options: Sequence[str]) -> dict[str, int]:
    """The option that `value` names as a letter from A, as a number from 0, and as the text of one option."""
    value, letters = value.strip(), LETTERS[: len(options)]
    found = {}
    if value in tuple(letters):
        found["letter"] = letters.index(value)
    if value.isascii() and value.isdigit() and int(value) < len(options):
        found["number"] = int(value)
    for texts in (list(options), [option.strip() for option in options]):
        if texts.count(value) == 1:
            found["text"] = texts.index(value)
            break
    return found


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


MULTIPLE_CHOICE: Final = TaskType(
    name="multiple_choice",
    model="ForMultipleChoice",
    metrics=("accuracy",),
    reader=ExampleReader(
        guess=_guess,
        read=read_choices,
        read_inputs=read_choice_inputs,
        input_columns=("text", "text_pair", "options"),
        finds_column=is_option_column,
    ),
    settings=InputSettings,
    loss=Loss(sums=class_losses),
    inference=CHOOSE,
    predicts_one_class=True,
    evaluate=evaluate_classes,
    error_examples=class_errors,
    collapse=class_collapse,
    predictions=PredictionReader(
        columns=("prediction", "answer", "label"), read=_read_predictions, reads_probabilities=True
    ),
    card=CardEntry(
        title="An ALBERT for multiple choice",
        pipeline_tag="multiple-choice",
        argument='[("a text", "a question", ["an option", "another"])]',
        pair_argument=None,
    ),
)
