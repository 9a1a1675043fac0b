"""Files of embeddings: `.npy` with the vectors alone, `.jsonl` and `.parquet` with the rows they belong to.

For each `.npy` file there is a file `NAME.npy.json` that records what the vectors depend on.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from litebert.errors import DataError, import_extra
from litebert.files import atomic_file, write_json
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.settings import InferencePrecision, Settings
from litebert.tasks.output_formats import OutputFormat
from litebert.tasks.readers.tables import Row
from litebert.tasks.results import DecodedPrediction

COLUMN: Final = "embedding"


class VectorSpec(Settings):
    """What the vectors of a file depend on."""

    fingerprint: str
    """Digest of texts, model and settings."""
    model: str
    """Digest of the model's files."""
    texts: str
    """SHA-256 of the file of the texts."""
    text: str | None = None
    """Column of the texts; null in a file of an earlier version."""
    embedding: EmbeddingSettings
    precision: InferencePrecision | None = None
    """Arithmetic of the model; null in a file of an earlier version."""
    vectors: str | None = None
    """SHA-256 of the file of the vectors; null in a file of an earlier version."""

    @classmethod
    def stored(cls, vectors: Path) -> Self | None:
        """The spec stored with a file of vectors; None if there is none."""
        return cls.read_json(spec_file(vectors))

    def write(self, vectors: Path) -> None:
        """Write the spec of a file of vectors."""
        write_json(spec_file(vectors), self.to_dict())


def spec_file(vectors: Path) -> Path:
    """The path of the spec of a file of vectors."""
    return vectors.with_name(f"{vectors.name}.json")


@dataclass(frozen=True, slots=True)
class Embedding(DecodedPrediction):
    """The vector of one text."""

    columns = (COLUMN,)
    nested_columns = (COLUMN,)
    vector: np.ndarray
    """Float32 [D]."""

    def to_record(self) -> dict[str, Any]:
        """The vector, each number with as few digits as float32 needs."""
        return {COLUMN: [float(text) for text in self.vector.astype("U32")]}


class NpyFormat(OutputFormat):
    """Vectors as one array of a known number of rows."""

    def __init__(self, *, rows: int, dimensions: int) -> None:
        self.state: dict[str, Any] = {"started": False}
        self._shape = (rows, dimensions)

    def render(self, rows: Sequence[Any], results: Sequence[Embedding]) -> bytes:
        """The next rows, in the first call after the header."""
        header = b"" if self.state["started"] else self._header()
        self.state["started"] = True
        return header + b"".join(each.vector.astype("<f4").tobytes() for each in results)

    def _header(self) -> bytes:
        buffer = io.BytesIO()
        np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": self._shape})
        return buffer.getvalue()


def read_vectors(path: Path) -> np.ndarray:
    """Float32 [N, D], mapped into memory; DataError if the file is no such array."""
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a file of NumPy"
        raise DataError(f"{path}: cannot be read as an array ({reason}); write it with `litebert embed`") from None
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype != np.float32:
        raise DataError(f"{path}: expected a float32 array of two dimensions; write it with `litebert embed`")
    return vectors


def validate_parquet(source: Path, rows: Sequence[Row]) -> None:
    """Raise MissingExtraError without pyarrow, DataError if a column of the rows of `source` is named `embedding`."""
    import_extra("pyarrow", extra="data", needed_for="writing .parquet")
    if any(COLUMN in row.values for row in rows):
        raise DataError(f"{source}: column {COLUMN!r} is where the vectors are written; rename it")


def write_parquet(output: Path, windows: Callable[[], Iterable[Sequence[Row]]], vectors: np.ndarray) -> None:
    """Write rows with their vectors, window by window; fields that are no texts become their JSON.

    `windows()` gives the rows, which are read twice: a column may begin in a later row.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    with atomic_file(output, one_writer=True) as temporary:
        writer = None
        try:
            names = list(dict.fromkeys(name for rows in windows() for row in rows for name in row.values))
            for columns, part in _column_windows(windows(), names, vectors):
                values = arrow.FixedSizeListArray.from_arrays(arrow.array(part.reshape(-1)), vectors.shape[1])
                table = arrow.table(
                    {**{name: arrow.array(texts, arrow.string()) for name, texts in columns.items()}, COLUMN: values}
                )
                writer = writer or parquet.ParquetWriter(temporary, table.schema)
                writer.write_table(table)
        finally:
            if writer:
                writer.close()


def _column_windows(
    windows: Iterable[Sequence[Row]], names: Sequence[str], vectors: np.ndarray
) -> Iterator[tuple[dict[str, list[str | None]], np.ndarray]]:
    """The named columns of each window with its vectors."""
    start = 0
    for rows in windows:
        yield (
            {name: [_text(row.values.get(name)) for row in rows] for name in names},
            vectors[start : start + len(rows)],
        )
        start += len(rows)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)  # rows of Parquet have dates and numbers of all kinds
