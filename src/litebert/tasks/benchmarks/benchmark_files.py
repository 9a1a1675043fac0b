"""The published files of a task → examples. Before: `catalogue`, a directory. After: runs, `submission`.

The directory is that of all tasks (`GLUE/CoLA/train.tsv`) or that of the one (`CoLA/train.tsv`).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from litebert.errors import ConfigError, DataError
from litebert.tasks.benchmarks.benchmarks import BenchmarkFile, BenchmarkTask, Split, official_task
from litebert.tasks.benchmarks.race import read_race
from litebert.tasks.labelled_data import Example, LabelledData, Target
from litebert.tasks.readers.data_checks import mention_repeats
from litebert.tasks.readers.label_columns import filled, indices, scores
from litebert.tasks.readers.squad_json import read_squad
from litebert.tasks.readers.tables import Table, read_text, read_tsv

logger = logging.getLogger(__name__)

UNKNOWN_GENRE = "n/a"


@dataclass(frozen=True, slots=True)
class BenchmarkSplit:
    """A part of a published task, in its own file or in one of yours."""

    task: str
    part: Split
    file: str | None = None
    """A file laid out as the official one, to take its place."""

    def read(self, directory: Path) -> LabelledData:
        """Its examples, as `read_official` has them."""
        return read_official(self.task, directory, self.part, files={self.part: self.file} if self.file else None)

    def path(self, directory: Path) -> Path:
        """Where its examples are; raises as `read_official` does."""
        task = official_task(self.task)
        return _find(task, directory, self.file or _file(task, self.part).file, is_own=self.file is not None)

    def is_there(self, directory: Path) -> bool:
        """Whether the directory holds its file; one of yours is taken to be there."""
        return self.file is not None or self.part in parts_there(self.task, directory, start=self.part)


def read_official(
    name: str,
    directory: Path,
    part: Split,
    *,
    files: Mapping[Split, str] | None = None,
    labels: tuple[str, ...] | None = None,
) -> LabelledData:
    """The examples of a part of a task, as its row says; rows of test files have no target.

    Args:
        name: of a row of `TASKS`.
        directory: that of all tasks, or that of this one.
        part: which file.
        files: names of files that differ from the official ones, such as those of a smaller selection: in the
            directory, or paths.
        labels: the labels in the order of a model that has another than the original code.

    Raises:
        DataError: with file, line and field.
    """
    task = official_task(name)
    task = replace(task, labels=labels) if labels else task
    row = _file(task, part)
    own_name = (files or {}).get(part)
    path = _find(task, directory, own_name or row.file, is_own=own_name is not None)
    if task.format == "race":
        examples = read_race(path, task.levels)
        mention_repeats(path, examples)
    elif task.format == "squad":
        examples = read_squad(path, kind=task.kind).examples
    else:
        examples = _read_table(task, row, path)
    _compare(path, len(examples), row, is_official=own_name is None)
    return LabelledData(path, task.kind, examples, task.labels, f"the task {task.title}")


def has_labels(data: LabelledData) -> bool:
    """Whether every example says what is right; test files usually do not."""
    return data.kind in ("spans", "answerability") or all(each.target is not None for each in data.examples)


def parts_there(name: str, directory: Path, *, start: str) -> tuple[Split, ...]:
    """Parts of a task whose names begin with `start` and whose files are in the directory."""
    task = official_task(name)
    named = [part for part in task.parts if part.startswith(start)]
    return tuple(
        part for part in named if any(path.exists() for path in _places(task, directory, task.parts[part].file))
    )


def _read_table(task: BenchmarkTask, row: BenchmarkFile, path: Path) -> tuple[Example, ...]:
    table = read_tsv(path, read_text(path), columns=row.names or None, skip_misfits=task.skip_misfits)
    texts = table.texts(task.text)
    pairs = table.texts(task.text_pair) if task.text_pair else [None] * len(texts)
    is_test = task.label not in table.columns and row.submitted_as is not None
    targets: list[Target] | list[None] = [None] * len(texts) if is_test else _targets(task, table)
    slices = [None] * len(texts)
    if task.slice in table.columns:
        slices = [None if value == UNKNOWN_GENRE else value for value in table.texts(str(task.slice))]
    ids = _ids(table, task.id) if is_test else [None] * len(texts)
    examples = tuple(
        Example(text, pair, target, None, genre, number)
        for text, pair, target, genre, number in zip(texts, pairs, targets, slices, ids, strict=True)
    )
    mention_repeats(path, examples, [row.line for row in table.rows])
    return examples


def _targets(task: BenchmarkTask, table: Table) -> list[Target]:
    values = filled(table, task.label)
    if task.labels is None:
        return list(scores(table, task.label, values))
    return list(indices(table, task.label, values, task.labels))


def _ids(table: Table, column: str) -> list[str]:
    """The numbers of the rows, each once: an answer belongs to one row."""
    ids = table.texts(column)
    seen: dict[str, int] = {}
    for row, number in zip(table.rows, ids, strict=True):
        if number in seen:
            raise DataError(
                f"{table.path}:{row.line}: field {column!r}: {number!r} stands at line {seen[number]} too; "
                "take a fresh copy"
            )
        seen[number] = row.line
    return ids


def _file(task: BenchmarkTask, part: Split) -> BenchmarkFile:
    if part not in task.parts:
        raise ConfigError(f"part: {task.title} has no {part!r}; it has {', '.join(task.parts)}")
    return task.parts[part]


def _find(task: BenchmarkTask, directory: Path, file: str, *, is_own: bool) -> Path:
    for path in [*_places(task, directory, file), *([Path(file)] if is_own else [])]:
        if path.exists():
            return path
    if is_own:
        raise DataError(f"{file}: no such file, neither as a path nor in {directory}; check the name that stands there")
    raise DataError(
        f"{directory}: no {task.folders[0]}/{file} there, nor {file}; give the directory that holds the folder "
        f"{task.folders[0]!r}, or name the file (--files PART=FILE)"
    )


def _places(task: BenchmarkTask, directory: Path, file: str) -> list[Path]:
    return [directory / folder / file for folder in task.folders] + [directory / file]


def _compare(path: Path, found: int, row: BenchmarkFile, *, is_official: bool) -> None:
    if found == row.rows:
        logger.info("%s: %d examples, as many as the official file has", path, found)
    else:
        level = logging.WARNING if is_official else logging.INFO
        logger.log(level, "%s: %d examples; the official file has %d", path, found, row.rows)
