"""The files of a benchmark → examples, and predictions → submission files in the formats of the leaderboards.

The directory is that of all tasks (`GLUE/CoLA/train.tsv`) or that of one (`CoLA/train.tsv`). GLUE may also have the
Parquet files of the hub (`hub_glue.py`).
"""

import io
import json
import logging
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from litebert.errors import ConfigError, DataError
from litebert.tasks.benchmarks.benchmarks import BenchmarkFile, BenchmarkTask, Split, benchmark_task
from litebert.tasks.benchmarks.hub_glue import HUB_LAYOUTS, PARQUET, all_parts, first_part, read_hub_table, task_folders
from litebert.tasks.labelled_data import Example, LabelledData, LabelledExample, Target
from litebert.tasks.readers.label_columns import NUMBER, label_indices, label_scores, non_empty_labels
from litebert.tasks.readers.splits import warn_duplicates
from litebert.tasks.readers.tables import Table, read_tsv

logger = logging.getLogger(__name__)

UNKNOWN_GENRE = "n/a"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the archive, so that equal predictions give equal bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkSplit:
    """A split of a benchmark, from its official file or from a file of your own."""

    task: str
    split: Split
    file: str | None = None
    """A file in the layout of the official one or of the hub's, to use instead."""

    def read(self, directory: Path) -> LabelledData:
        """Its examples, as `read_benchmark` reads them."""
        files = {self.split: self.file} if self.file else None
        return read_benchmark(self.task, directory, self.split, files=files)

    def path(self, directory: Path) -> Path:
        """Its file; raises as `read_benchmark` does."""
        return self.paths(directory)[0]

    def paths(self, directory: Path) -> list[Path]:
        """All files of it, several where the hub has it in parts."""
        return _find(benchmark_task(self.task), directory, self.split, self.file)

    def is_available(self, directory: Path) -> bool:
        """Whether the directory has its file; a file of your own is taken to exist."""
        return self.file is not None or self.split in available_splits(self.task, directory, start=self.split)


def read_benchmark(
    name: str,
    directory: Path,
    split: Split,
    *,
    files: Mapping[Split, str] | None = None,
    labels: tuple[str, ...] | None = None,
) -> LabelledData:
    """The examples of a split of a row of `BENCHMARKS`; test examples have no target. DataError with line and field.

    `files` replace the official ones: names in the directory, or paths. `labels` are in the order of a model, where it
    differs from that of google-research/albert.
    """
    task = benchmark_task(name)
    task = replace(task, labels=labels) if labels else task
    official = _benchmark_file(task, split)
    own_name = (files or {}).get(split)
    paths = _find(task, directory, split, own_name)
    path = paths[0]
    lines = None
    # They import torch: settings name a split without reading it.
    from litebert.tasks.benchmarks.race import read_race
    from litebert.tasks.types.extractive_qa.squad_json import read_squad
    from litebert.tasks.types.pronoun_resolution.pronoun_examples import pronoun_examples

    if task.format == "race":
        examples = read_race(path, task.levels)
    elif task.format == "squad":
        examples = read_squad(path)
    else:
        examples, lines = _read_table(task, official, paths)
        examples = pronoun_examples(examples) if task.format == "pronouns" else examples
    warn_duplicates(path, examples, lines)
    _compare_size(path, len(examples), official, is_official=own_name is None)
    reason = f"the task {task.title}"
    return LabelledData(path, task.task_type, tuple(examples), task.labels, reason, tuple(lines) if lines else None)


def available_splits(name: str, directory: Path, *, start: str) -> tuple[Split, ...]:
    """The splits whose names begin with `start` and whose files are in the directory."""
    task = benchmark_task(name)
    named = [split for split in task.splits if split.startswith(start)]
    return tuple(split for split in named if _published(task, directory, split) is not None)


def _read_table(task: BenchmarkTask, file: BenchmarkFile, paths: Sequence[Path]) -> tuple[list[Example], list[int]]:
    """The examples and their lines; in Parquet their rows."""
    if paths[0].suffix == PARQUET:
        table = read_hub_table(task, paths, may_lack_labels=file.submitted_as is not None)
    else:
        table = read_tsv(paths[0], columns=file.names or None, skip_misfits=task.skip_misfits)
    texts = table.texts(task.text)
    pairs = table.texts(task.text_pair) if task.text_pair else [None] * len(texts)
    is_test = task.label not in table.columns and file.submitted_as is not None
    targets: Sequence[Target | None] = [None] * len(texts) if is_test else _targets(task, table)
    slices = [None] * len(texts)
    if task.slice in table.columns:
        slices = [None if value == UNKNOWN_GENRE else value for value in table.texts(str(task.slice))]
    ids = table.unique_texts(task.id, advice="download the file again") if is_test else [None] * len(texts)
    examples = [
        Example(text=text, text_pair=pair, target=target, slice=genre, id=number)
        for text, pair, target, genre, number in zip(texts, pairs, targets, slices, ids, strict=True)
    ]
    return examples, [row.line for row in table.rows]


def _targets(task: BenchmarkTask, table: Table) -> Sequence[Target]:
    values = non_empty_labels(table, task.label)
    if task.labels is None:
        return label_scores(table, task.label, values)
    return label_indices(table, task.label, values, task.labels)


def _benchmark_file(task: BenchmarkTask, split: Split) -> BenchmarkFile:
    if split not in task.splits:
        raise ConfigError(f"split: {task.title} has no {split!r}; it has {', '.join(task.splits)}")
    return task.splits[split]


def _find(task: BenchmarkTask, directory: Path, split: Split, own: str | None) -> list[Path]:
    """A file of your own, or the published ones; DataError where there are none."""
    if own is not None:
        for path in [*(folder / own for folder in _folders(task, directory)), Path(own)]:
            if path.exists():
                return [path]
        raise DataError(f"{own}: no such file, neither as a path nor in {directory}; check its name")
    file = _benchmark_file(task, split).file
    if (path := _published(task, directory, split)) is not None:
        return all_parts(path)
    layout = HUB_LAYOUTS.get(task.title)
    hub = f" (or {layout.folder!r} with {layout.splits[split]}-00000-of-00001.parquet)" if layout else ""
    raise DataError(
        f"{directory}: found neither {task.folders[0]}/{file} nor {file}; give the directory that holds the folder "
        f"{task.folders[0]!r}{hub}, or name the file (--split-file SPLIT=FILE); docs/guides/tasks.md says where to get "
        "it"
    )


def _published(task: BenchmarkTask, directory: Path, split: Split) -> Path | None:
    """The official file of a split, or where it is not there the first one of the hub; None without either."""
    for folder in _folders(task, directory):
        if (path := folder / task.splits[split].file).exists():
            return path
        if (path := first_part(task, split, folder)) is not None:
            return path
    return None


def _folders(task: BenchmarkTask, directory: Path) -> list[Path]:
    return [*(directory / folder for folder in task_folders(task)), directory]


def _compare_size(path: Path, found: int, official: BenchmarkFile, *, is_official: bool) -> None:
    if found == official.rows:
        logger.info("%s: %d examples, as many as in the official file", path, found)
    else:
        level = logging.WARNING if is_official else logging.INFO
        logger.log(level, "%s: %d examples; the official file has %d", path, found, official.rows)


def glue_file(examples: Sequence[Example], predictions: Sequence[str | float]) -> str:
    """`index` and `prediction` with a tab between them: label names, or scores to three decimals."""
    rows = [
        f"{example.id}\t{f'{value:.3f}' if isinstance(value, float) else value}\n"
        for example, value in zip(examples, predictions, strict=True)
    ]
    return "".join(["index\tprediction\n", *rows])


def checked_glue_file(path: Path, split: BenchmarkSplit, directory: Path) -> str:
    """The content of a submission file for a split; DataError unless it has a prediction for each of its examples."""
    table = read_tsv(path)
    numbers, predictions = table.texts("index"), table.texts("prediction")
    data, allowed = split.read(directory), benchmark_task(split.task).score_range
    if len(numbers) != len(data.examples):
        raise DataError(
            f"{path}: {len(numbers)} predictions for the {len(data.examples)} rows of {data.path}; predict that file"
        )
    for row, number, value, example in zip(table.rows, numbers, predictions, data.examples, strict=True):
        if number != example.id:
            raise DataError(f"{path}:{row.line}: field 'index': {number!r}, expected {example.id!r} as in {data.path}")
        if not (value in data.labels if data.labels else NUMBER.fullmatch(value)):
            expected = f"one of {', '.join(data.labels)}" if data.labels else "a number"
            raise DataError(f"{path}:{row.line}: field 'prediction': {value!r}, expected {expected}")
        if allowed and not allowed[0] <= float(value) <= allowed[1]:
            low, high = allowed
            raise DataError(
                f"{path}:{row.line}: field 'prediction': {value}, expected a number from {low:g} to {high:g}, because "
                "the leaderboard refuses others; clip it"
            )
    return glue_file(data.examples, predictions)


def glue_archive(files: Mapping[str, str]) -> bytes:
    """The zip for the leaderboard: files under their official names, not in a folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def race_file(examples: Sequence[LabelledExample], predictions: Sequence[str]) -> str:
    """A JSON object: name of the passage and index of the question → letter."""
    letters = {str(example.id): letter for example, letter in zip(examples, predictions, strict=True)}
    return json.dumps(letters, indent=0) + "\n"
