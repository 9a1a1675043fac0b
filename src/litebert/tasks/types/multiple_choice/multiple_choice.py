"""The task type `multiple_choice`: the best of several options, as in RACE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.tasks.input_settings import InputSettings
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Table
from litebert.tasks.types.classification.classification import (
    class_collapse,
    class_errors,
    class_losses,
    class_probabilities,
    evaluate_classes,
)
from litebert.tasks.types.multiple_choice.choice_columns import option_columns, read_choice_inputs, read_choices
from litebert.tasks.types.multiple_choice.choice_examples import LETTERS, encode_choices
from litebert.tasks.types.task_type import (
    CardEntry,
    ExampleReader,
    Loss,
    Result,
    TaskType,
)


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
