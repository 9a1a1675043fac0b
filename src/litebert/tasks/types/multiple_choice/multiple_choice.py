"""The task type `multiple_choice`: the best of several options, as in RACE."""

from typing import Final

from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Table
from litebert.tasks.results import class_probabilities, decode_choice
from litebert.tasks.types.classification.classification import (
    class_collapse,
    class_errors,
    class_losses,
    evaluate_classes,
)
from litebert.tasks.types.multiple_choice.choice_columns import option_columns, read_choice_inputs, read_choices
from litebert.tasks.types.multiple_choice.choice_examples import encode_choices
from litebert.tasks.types.task_type import CardEntry, ExampleReader, Loss, TaskType


def _guess(table: Table, columns: Columns) -> str | None:
    names = columns.options or option_columns(table)
    return f"there are columns of options: {', '.join(names)}" if names else None


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
    decode=decode_choice,
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
