"""The rows that an ensemble answers, with or without labels. Before: a file or a published task. After: `ensemble`."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from litebert.commands.ensemble.members import Member
from litebert.commands.finetune.finetune_data import task_from
from litebert.commands.finetune.labelled_set import task_of
from litebert.errors import ConfigError, DataError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit, has_labels
from litebert.tasks.benchmarks.benchmarks import official_task
from litebert.tasks.labelled_data import ChoiceExample, Example, LabelledData, TaggedExample
from litebert.tasks.readers.choice_columns import option_columns, options_of
from litebert.tasks.readers.columns import (
    ColumnNames,
    Columns,
    SavedColumns,
    has_columns,
    resolve_columns,
    validate_no_columns,
)
from litebert.tasks.readers.conll import ENDINGS, read_columns
from litebert.tasks.readers.question_tables import question_columns, unanswered_rows
from litebert.tasks.readers.read_labelled import read_labelled
from litebert.tasks.readers.squad_json import read_squad_questions
from litebert.tasks.readers.tables import Table, read_table, read_text
from litebert.tasks.task_type import QUESTIONS, Kind, Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rows:
    """What is asked."""

    data: LabelledData
    table: Table | None
    """The file, where it has named columns."""
    task: Task | None
    """How answers are scored; None where there are no labels."""
    official: str | None = None
    """Name of the published task."""


def read_rows(member: Member, path: Path, columns: Columns, metrics: Sequence[str]) -> Rows:
    """The rows of a file of one's own; without a column of labels they can be answered, but not scored."""
    validate_no_columns(asdict(columns), path)
    table = read_table(path) if has_columns(path) else None
    kind, labels = member.kind, member.description.labels
    if table is not None:
        columns = resolve_columns(columns, SavedColumns.stored(member.directory), table)
    names = columns.names()
    if not _has_labels(kind, path, table, columns):
        logger.info("%s: no labels; its rows are answered, not scored", path)
        examples = (
            _unlabelled_questions(path, table, columns) if kind in QUESTIONS else _unlabelled(kind, path, table, names)
        )
        return Rows(LabelledData(path, kind, tuple(examples), labels or None, "no labels"), table, None)
    data = read_labelled(path, columns, kind=kind, labels=None if kind == "regression" else labels or None)
    return Rows(data, table, task_of(data, (names.text, names.text_pair), names.label, metrics))


def read_official_rows(member: Member, part: BenchmarkSplit, directory: Path, metrics: Sequence[str]) -> Rows:
    """The rows of a part of a published task, which the member must have been fine-tuned on."""
    row = official_task(part.task)
    labels = member.description.labels
    if row.kind != member.kind or (row.labels is not None and set(row.labels) != set(labels)):
        raise ConfigError(
            f"{member.path}: answers {member.kind} with labels {', '.join(labels)}, but {row.title} is {row.kind} "
            f"with {', '.join(row.labels or ())}; give models that were fine-tuned on it"
        )
    data = part.read(directory)
    return Rows(data, None, task_from(row, data, tuple(metrics)) if has_labels(data) else None, part.task)


def _has_labels(kind: Kind, path: Path, table: Table | None, columns: Columns) -> bool:
    if path.suffix in ENDINGS:
        return kind != "tokens" or len(read_columns(path)[0][0].columns) > 1
    if table is None:
        return kind not in QUESTIONS or '"answers"' in read_text(path)
    label = question_columns(table, columns).answer if kind in QUESTIONS else columns.names().label
    return label in table.columns


def _unlabelled(kind: Kind, path: Path, table: Table | None, columns: ColumnNames) -> list[Any]:
    if table is None:
        return [TaggedExample(tuple(line.columns[0] for line in lines), None) for lines in read_columns(path)]
    pairs = table.texts(columns.text_pair) if columns.text_pair else [None] * len(table.rows)
    if kind == "tokens":
        return [TaggedExample(words, None) for words in _words(table, columns.text)]
    texts = table.texts(columns.text)
    if kind == "multiple_choice":
        options = options_of(table, columns.options or option_columns(table))
        return [ChoiceExample(*each, None) for each in zip(texts, pairs, options, strict=True)]
    return [Example(text, pair, None) for text, pair in zip(texts, pairs, strict=True)]


def _unlabelled_questions(path: Path, table: Table | None, columns: Columns) -> Sequence[Any]:
    return read_squad_questions(path) if table is None else unanswered_rows(table, question_columns(table, columns))


def _words(table: Table, column: str) -> list[tuple[str, ...]]:
    """The words of each row: a list, or a text cut at its spaces."""
    sentences = []
    for row, text in zip(table.rows, table.texts(column, lists=True), strict=True):
        value = row.values[column]
        words = tuple(map(str, value)) if isinstance(value, list) else tuple(text.split())
        if not words:
            raise DataError(f"{table.path}:{row.line}: field {column!r}: holds no words; remove the row")
        sentences.append(words)
    return sentences
