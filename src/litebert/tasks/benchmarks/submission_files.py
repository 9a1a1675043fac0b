"""Submission files in the formats of the leaderboards."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.labelled_data import Example
from litebert.tasks.readers.label_columns import NUMBER
from litebert.tasks.readers.tables import read_tsv
from litebert.tasks.types.multiple_choice.multiple_choice import ChoiceExample

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the archive, so that equal predictions give equal bytes."""


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
    data = split.read(directory)
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
    return glue_file(data.examples, predictions)


def glue_archive(files: Mapping[str, str]) -> bytes:
    """The zip for the leaderboard: files under their official names, not in a folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def race_file(examples: Sequence[ChoiceExample], predictions: Sequence[str]) -> str:
    """A JSON object: name of the passage and index of the question → letter."""
    letters = {str(example.id): letter for example, letter in zip(examples, predictions, strict=True)}
    return json.dumps(letters, indent=0) + "\n"
