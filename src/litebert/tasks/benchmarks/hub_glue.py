"""GLUE as the Hugging Face hub has it, `nyu-mll/glue`: Parquet files → tables as the official TSV files give them.

Labels are numbers there, and -1 in the test splits. Sentences and labels have other columns than in the TSV files.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from litebert.errors import DataError
from litebert.tasks.benchmarks.benchmarks import BenchmarkTask, Split
from litebert.tasks.readers.tables import Row, Table, read_table

GLUE: Final = "nyu-mll/glue"
PARQUET: Final = ".parquet"
UNLABELLED: Final = -1
_LABEL: Final = "label"
_ID: Final = "idx"
_PART: Final = re.compile(r"(?P<split>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.parquet")
_SPLITS: Final[Mapping[Split, str]] = {"train": "train", "dev": "validation", "test": "test", "diagnostic": "test"}
_MNLI_SPLITS: Final[Mapping[Split, str]] = {
    "train": "train",
    "dev": "validation_matched",
    "dev-mismatched": "validation_mismatched",
    "test": "test_matched",
    "test-mismatched": "test_mismatched",
}


@dataclass(frozen=True, slots=True)
class HubLayout:
    """A task of GLUE on the hub."""

    folder: str
    text: str
    """Column of the first text."""
    text_pair: str | None
    labels: tuple[str, ...] | None
    """The label of the TSV files by the number on the hub; None: scores."""
    splits: Mapping[Split, str] = field(default_factory=lambda: _SPLITS)
    """What the hub calls the splits."""


_BINARY: Final = ("0", "1")
_ENTAILMENT: Final = ("entailment", "not_entailment")
_THREE_WAY: Final = ("entailment", "neutral", "contradiction")
HUB_LAYOUTS: Final[Mapping[str, HubLayout]] = MappingProxyType(
    {
        "CoLA": HubLayout("cola", "sentence", None, _BINARY),
        "SST-2": HubLayout("sst2", "sentence", None, _BINARY),
        "MRPC": HubLayout("mrpc", "sentence1", "sentence2", _BINARY),
        "STS-B": HubLayout("stsb", "sentence1", "sentence2", None),
        "QQP": HubLayout("qqp", "question1", "question2", _BINARY),
        "MNLI": HubLayout("mnli", "premise", "hypothesis", _THREE_WAY, _MNLI_SPLITS),
        "QNLI": HubLayout("qnli", "question", "sentence", _ENTAILMENT),
        "RTE": HubLayout("rte", "sentence1", "sentence2", _ENTAILMENT),
        "WNLI": HubLayout("wnli", "sentence1", "sentence2", _BINARY),
        "GLUE diagnostics": HubLayout("ax", "premise", "hypothesis", _THREE_WAY),
    }
)
"""By the title of the benchmark."""


def task_folders(task: BenchmarkTask) -> tuple[str, ...]:
    """Names of the folder of a task: those of the official files, then that of the hub."""
    layout = HUB_LAYOUTS.get(task.title)
    return (*task.folders, layout.folder) if layout else task.folders


def first_part(task: BenchmarkTask, split: Split, folder: Path) -> Path | None:
    """The first file of a split in a folder of the hub; None where it has none."""
    layout = HUB_LAYOUTS.get(task.title)
    if layout is None:
        return None
    found = sorted(folder.glob(f"{layout.splits[split]}-*-of-*{PARQUET}"))
    return next((path for path in found if _PART.fullmatch(path.name)), None)


def all_parts(path: Path) -> list[Path]:
    """All files of the split that `path` is a part of, or `path` itself; DataError where one is missing."""
    match = _PART.fullmatch(path.name)
    if match is None:
        return [path]
    names = [f"{match['split']}-{number:05}-of-{match['total']}{PARQUET}" for number in range(int(match["total"]))]
    parts = [path.with_name(name) for name in names]
    for part in parts:
        if not part.exists():
            raise DataError(f"{part}: no such file, but {path.name} is there; download all {len(parts)} parts")
    return parts


def read_hub_table(task: BenchmarkTask, paths: Sequence[Path], *, may_lack_labels: bool) -> Table:
    """The rows of the parts of a split with columns and labels of the TSV files, numbered through all parts.

    Without a column of labels where every row has the label -1, if they may be missing; otherwise that is a DataError.
    """
    layout = HUB_LAYOUTS[task.title]
    tables = [_read_part(task, layout, path) for path in paths]
    records = [row.values for table in tables for row in table.rows]
    columns = tables[0].columns
    if may_lack_labels and all(record[task.label] is None for record in records):
        columns = tuple(column for column in columns if column != task.label)
    else:
        for table in tables:
            _require_labels(table, task.label)
    rows = (Row(number, record) for number, record in enumerate(records, start=1))
    return Table(paths[0], columns, tuple(rows))


def _read_part(task: BenchmarkTask, layout: HubLayout, path: Path) -> Table:
    table = read_table(path)
    sources = {task.text: layout.text, task.label: _LABEL, task.id: _ID}
    if task.text_pair and layout.text_pair:
        sources[task.text_pair] = layout.text_pair
    for column in sources.values():
        if column not in table.columns:
            raise DataError(
                f"{path}: no column {column!r}; it has {', '.join(map(repr, table.columns))}; give a file with the "
                f"columns of the folder {layout.folder!r} of {GLUE}"
            )
    rows = []
    for row in table.rows:
        values = {name: row.values[column] for name, column in sources.items()}
        values[task.label] = _label(values[task.label], layout, f"{path}:{row.line}: field {_LABEL!r}")
        rows.append(Row(row.line, values))
    return Table(path, tuple(sources), tuple(rows))


def _label(value: Any, layout: HubLayout, where: str) -> Any:
    """The label of the TSV file, None for -1; a text is kept."""
    if value == UNLABELLED:
        return None
    if layout.labels is None:
        return _shortest(value) if isinstance(value, float) else value
    if not isinstance(value, int):
        return value
    if not 0 <= value < len(layout.labels):
        raise DataError(f"{where}: unknown label {value}; expected 0 to {len(layout.labels) - 1}, or -1 for no label")
    return layout.labels[value]


def _shortest(value: float) -> float:
    """3.8 for the float32 next to it, which is how the hub stores scores."""
    single = np.float32(value)
    return float(str(single)) if float(single) == value else value


def _require_labels(table: Table, label: str) -> None:
    lines = [row.line for row in table.rows if row.values[label] is None]
    if lines:
        raise DataError(
            f"{table.path}:{lines[0]}: field {_LABEL!r}: {len(lines)} of {len(table.rows)} rows have no label (-1); "
            "give a split with labels; `predict` reads test splits without"
        )
