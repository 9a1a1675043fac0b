"""The task type `multiple_choice`: the best of several options, as in RACE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Table
from litebert.tasks.task import Task
from litebert.tasks.types.class_predictions import (
    class_collapse,
    class_errors,
    class_losses,
    class_probabilities,
    evaluate_classes,
)
from litebert.tasks.types.multiple_choice.choice_columns import option_columns, read_choice_inputs, read_choices
from litebert.tasks.types.multiple_choice.choice_examples import LETTERS, ChoiceExample, encode_choices
from litebert.tasks.types.task_type import (
    CardEntry,
    ErrorExample,
    ExampleReader,
    Loss,
    Result,
    Scored,
    TaskType,
)
from litebert.tasks.types.text_examples import num_examples, sequence_logits


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
        return {
            "prediction": self.letter,
            "probability": self.probability,
            "probabilities": list(self.probabilities),
        }


def _guess(table: Table, columns: Columns) -> str | None:
    names = columns.options or option_columns(table)
    return f"there are columns of options: {', '.join(names)}" if names else None


def _decode(probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: InputSettings) -> Choice:
    return Choice(int(probabilities.argmax()), float(probabilities.max()), tuple(probabilities.tolist()))


def _evaluate(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    return evaluate_classes(task, predictions, data, lengths, LETTERS[: len(predictions[0])])


def _errors(task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored) -> list[ErrorExample]:
    return class_errors(predictions, data, LETTERS, _shown)


def _shown(example: ChoiceExample) -> str:
    options = (f"{letter}. {option}" for letter, option in zip(LETTERS, example.options, strict=False))
    return "\n".join([example.text, example.question or "", *options])


MULTIPLE_CHOICE: Final = TaskType(
    name="multiple_choice",
    model="ForMultipleChoice",
    head=("classifier",),
    metrics=("accuracy",),
    reader=ExampleReader(
        guess=_guess,
        read=read_choices,
        read_inputs=read_choice_inputs,
        input_columns=("text", "text_pair", "options"),
    ),
    encode=encode_choices,
    loss=Loss(counts=lambda batch: {"label": num_examples(batch)}, sums=class_losses),
    forward=sequence_logits,
    predict=class_probabilities,
    decode=_decode,
    evaluate=_evaluate,
    error_examples=_errors,
    collapse=class_collapse,
    card=CardEntry(
        title="An ALBERT for multiple choice",
        pipeline_tag="multiple-choice",
        method="multiple_choice",
        argument='[("a text", "a question", ["an option", "another"])]',
    ),
)
