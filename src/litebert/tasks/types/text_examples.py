"""Texts and pairs of texts with a label, a score or several labels: shared by three task types."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from litebert.tasks.encoded import Inputs, LabelledBatch
from litebert.tasks.labelled_data import Example, LabelledData, Target
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.tables import Table
from litebert.tasks.types.task_type import ReadResult

logger = logging.getLogger(__name__)


def read_texts(
    table: Table, columns: Columns, targets: Sequence[Target], labels: tuple[str, ...] | None = None
) -> ReadResult:
    """The rows of a table with their targets."""
    groups, slices = group_and_slice(table, columns)
    examples = tuple(
        Example(text=text, text_pair=pair, target=target, group=group, slice=slice_)
        for (text, pair), target, group, slice_ in zip(_texts(table, columns), targets, groups, slices, strict=True)
    )
    empty = sum(not example.text.strip() for example in examples)
    if empty:
        logger.warning("%s: %d rows have an empty text; they are used", table.path, empty)
    return ReadResult(examples=examples, labels=labels, lines=[row.line for row in table.rows])


def read_text_inputs(table: Table, columns: Columns) -> list[Example]:
    """The rows of a table without targets."""
    return [Example(text=text, text_pair=pair) for text, pair in _texts(table, columns)]


def logits_of(model: nn.Module, inputs: Inputs) -> Tensor:
    """The logits of a batch."""
    return model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids).logits


def sequence_logits(model: nn.Module, inputs: Inputs) -> list[np.ndarray]:
    """Float32 [C] for each sequence, or for the options of each question."""
    return list(logits_of(model, inputs).float().cpu().numpy())


def num_examples(batch: LabelledBatch) -> int:
    """Labels of a batch that has one for each example."""
    return batch.num_examples


def targets_of(data: LabelledData) -> np.ndarray:
    """The targets of all examples."""
    return np.array([example.target for example in data.examples])


def shown(example: Any) -> str:
    """The texts of an example, a line each."""
    return example.text if example.text_pair is None else f"{example.text}\n{example.text_pair}"


def _texts(table: Table, columns: Columns) -> list[tuple[str, str | None]]:
    texts = table.texts(columns.names().text)
    pairs = table.texts(columns.text_pair) if columns.text_pair else [None] * len(texts)
    return list(zip(texts, pairs, strict=True))
