"""Files of answers as the leaderboards take them. Before: examples of a test part and their answers. After: runs."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.labelled_data import ChoiceExample, Example
from litebert.tasks.readers.label_columns import NUMBER
from litebert.tasks.readers.tables import read_text, read_tsv

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the archive, so that the same answers are the same bytes."""


def glue_file(examples: Sequence[Example], answers: Sequence[str | float]) -> str:
    """`index` and `prediction` with a tab between them: label names, or scores to three decimals."""
    rows = [
        f"{example.id}\t{f'{answer:.3f}' if isinstance(answer, float) else answer}\n"
        for example, answer in zip(examples, answers, strict=True)
    ]
    return "".join(["index\tprediction\n", *rows])


def glue_answers(path: Path, part: BenchmarkSplit, directory: Path) -> str:
    """The content of a file of answers to a part of a task; DataError unless each of its rows has one."""
    table = read_tsv(path, read_text(path))
    numbers, answers = table.texts("index"), table.texts("prediction")
    data = part.read(directory)
    if len(numbers) != len(data.examples):
        raise DataError(
            f"{path}: {len(numbers)} answers to the {len(data.examples)} rows of {data.path}; answer that file"
        )
    for row, number, answer, example in zip(table.rows, numbers, answers, data.examples, strict=True):
        if number != example.id:
            raise DataError(f"{path}:{row.line}: field 'index': {number!r}, expected {example.id!r} as in {data.path}")
        if not (answer in data.labels if data.labels else NUMBER.fullmatch(answer)):
            expected = f"one of {', '.join(data.labels)}" if data.labels else "a number"
            raise DataError(f"{path}:{row.line}: field 'prediction': {answer!r}, expected {expected}")
    return glue_file(data.examples, answers)


def glue_archive(files: Mapping[str, str]) -> bytes:
    """The zip that the leaderboard takes: files by their official names, with no folder around them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def race_file(examples: Sequence[ChoiceExample], answers: Sequence[str]) -> str:
    """A JSON object: name of the passage and number of the question → letter."""
    letters = {str(example.id): answer for example, answer in zip(examples, answers, strict=True)}
    return json.dumps(letters, indent=0) + "\n"
