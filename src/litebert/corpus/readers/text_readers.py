"""Lines of text from text files, JSON lines, Parquet files and data sets.

Every format is read as the same stream: lines, and None where a document ends.
"""

import json
import re
from codecs import lookup
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.decompression import MAX_PIECE_BYTES, ByteCounter, raw_lines
from litebert.corpus.readers.line_problems import REPAIRED, SKIPPED, LineProblems
from litebert.corpus.readers.sentence_splitter import split_long_sentence
from litebert.errors import DataError, import_extra
from litebert.hub_datasets import PREFIX, is_dataset_name, stream_rows

Lines = Iterator[tuple[int, str | None]]
SURROGATES = re.compile("[\ud800-\udfff]")
UTF_16_BOMS = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of a file in UTF-16 or UTF-32."""
UTF_8_BOM = b"\xef\xbb\xbf"
ZERO_WIDTH = "\u200b\ufeff"
"""Characters that nobody sees: a space of no width, and the byte order mark inside a file that was put together."""
LINE = re.compile("[^\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]+")
"""A line as defined by `str.splitlines`."""
MAX_ROW_BYTES = 2**26
"""Maximum bytes of a row of JSON; unlike a line of text it cannot be read in pieces."""
PARQUET_BATCH_ROWS = 64
"""Parquet rows in memory at a time."""


class TextReader:
    """Reads one file: yields its lines and counts what was repaired."""

    def __init__(
        self, path: Path, settings: CorpusSettings, counts: Counter[str], bytes_read: ByteCounter | None = None
    ) -> None:
        self.path, self.settings, self.counts = path, settings, counts
        self.bytes_read = bytes_read or ByteCounter()
        self.problems = LineProblems()

    def lines(self) -> Lines:
        """Pairs of line or row number and text without surrounding whitespace; None instead of text ends a document."""
        return FORMATS[format_of(self.path)](self)

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """Pairs of line number and bytes, without a UTF-8 byte order mark."""
        lines = raw_lines(self.path, self.bytes_read, encoding=self.settings.encoding)
        for number, line in lines:
            if line.startswith(UTF_16_BOMS):
                raise DataError(f"{self.path}:1: is UTF-16, expected UTF-8; convert the file")
            if line.startswith(UTF_8_BOM) and lookup(self.settings.encoding).name != "utf-8":
                raise DataError(
                    f"{self.path}:1: begins with a byte order mark of UTF-8, and encoding is {self.settings.encoding}; "
                    "read such files without --encoding"
                )
            yield number, line.removeprefix(UTF_8_BOM)
            break
        yield from lines

    def decode(self, line: bytes, number: int) -> str:
        """The text of a line; bytes that the encoding lacks are replaced and counted, or an error (`invalid_utf8`)."""
        if b"\0" in line:
            raise DataError(
                f"{self.path}:{number}: has NUL bytes, so it is binary or UTF-16; convert the file to UTF-8"
            )
        self.problems.lines += 1
        encoding = self.settings.encoding
        try:
            return visible(line.decode(encoding))
        except UnicodeDecodeError as error:
            self._invalid_text(number, f"byte {error.start + 1} is not {encoding.upper()}")
            self.problems.damaged.record(f"{self.path}:{number}")
            return visible(line.decode(encoding, "replace"))

    def paragraphs(self, text: Any, number: int) -> Lines:
        """The lines of the text of one row, as a document; without text, the row is skipped or an error."""
        if not isinstance(text, str):
            self._invalid_row(number, f"expected text under {self.settings.text_key!r}, found {type(text).__name__}")
            return
        if SURROGATES.search(text):
            self._invalid_text(number, "has half of a surrogate pair")
            text = SURROGATES.sub("\ufffd", text)
        if not visible(text.replace("\0", "")):
            self.counts["empty documents"] += 1
        for match in LINE.finditer(text):
            for part, line in enumerate(split_long_sentence(match[0], max_chars=MAX_PIECE_BYTES)):
                self.counts["lines cut"] += part > 0
                yield number, visible(line.replace("\0", ""))
        yield number, None

    def row(self, pieces: Sequence[bytes], number: int, *, size: int) -> Lines:
        """The lines of one row of JSON of `size` bytes; the pieces are incomplete if it is too long."""
        if size > MAX_ROW_BYTES:
            self._invalid_row(number, f"{size:,} bytes in one row, expected at most {MAX_ROW_BYTES:,}")
            return
        if text := self.decode(b"".join(pieces), number):
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
                self._invalid_row(number, f"not JSON ({error})")
                return
            yield from self.paragraphs(row.get(self.settings.text_key) if isinstance(row, dict) else row, number)

    def _invalid_text(self, number: int, problem: str) -> None:
        if self.settings.invalid_utf8 == "error":
            raise DataError(f"{self.path}:{number}: {problem}; convert the file to UTF-8 or set --invalid-utf8 replace")
        self._count(REPAIRED, number)

    def _invalid_row(self, number: int, problem: str) -> None:
        if self.settings.invalid_rows == "error":
            raise DataError(f"{self.path}:{number}: {problem}; correct the row or set --invalid-rows skip")
        self._count(SKIPPED, number)

    def _count(self, problem: str, number: int) -> None:
        self.counts[problem] += 1
        self.problems.record(problem, f"{self.path}:{number}")


def visible(text: str) -> str:
    """The text without surrounding white space; empty if only characters without width are left."""
    text = text.strip()
    return "" if text and text[0] in ZERO_WIDTH and not text.strip(f" {ZERO_WIDTH}") else text


def format_of(path: Path) -> str:
    """The key of FORMATS for `path`: its ending, or the prefix of data set names."""
    if is_dataset_name(path):
        return PREFIX
    if found := [ending for ending in ENDINGS if path.name.lower().endswith(ending)]:
        return found[0]
    raise DataError(f"{path}: unknown file format; expected a name ending in {', '.join(ENDINGS)}")


def _text(reader: TextReader) -> Lines:
    number, continues = 0, False
    for number, raw in reader.raw_lines():
        *inner, line = reader.decode(raw, number).split("\r")  # which ends lines in files of old Macs
        for part in map(visible, inner):
            if part:
                yield number, part
            if reader.settings.documents == "line" or (not part and reader.settings.documents == "blank_line"):
                yield number, None
        line = visible(line)
        ends = raw.endswith(b"\n")
        reader.counts["lines cut"] += continues and bool(line)
        if line:
            yield number, line
        blank = not line and not continues
        if ends and (reader.settings.documents == "line" or (blank and reader.settings.documents == "blank_line")):
            yield number, None
        continues = not ends
    yield number + 1, None


def _json_lines(reader: TextReader) -> Lines:
    pieces: list[bytes] = []
    number = size = 0
    for number, raw in reader.raw_lines():
        size += len(raw)
        if size <= MAX_ROW_BYTES:
            pieces.append(raw)
        if raw.endswith(b"\n"):
            yield from reader.row(pieces, number, size=size)
            pieces, size = [], 0
    if size:
        yield from reader.row(pieces, number, size=size)


def _parquet(reader: TextReader) -> Lines:
    arrow = import_extra("pyarrow", extra="data", needed_for=f"{reader.path}: reading Parquet")
    from pyarrow import parquet  # pyrefly: ignore[missing-import]

    key, number = reader.settings.text_key, 0
    try:
        batches = parquet.ParquetFile(reader.path).iter_batches(batch_size=PARQUET_BATCH_ROWS, columns=[key])
        for row in (row for batch in batches for row in batch.to_pylist()):
            number += 1
            yield from reader.paragraphs(row.get(key), number)
    except arrow.ArrowException as error:
        raise DataError(f"{reader.path}: not a readable Parquet file ({error}); get a new copy") from error


def _dataset(reader: TextReader) -> Lines:
    for number, row in enumerate(stream_rows(reader.path), start=1):
        yield from reader.paragraphs(row.get(reader.settings.text_key), number)


FORMATS: dict[str, Callable[[TextReader], Lines]] = {
    **dict.fromkeys((".txt", ".txt.gz", ".txt.zst", ".md"), _text),
    **dict.fromkeys((".jsonl", ".jsonl.gz", ".jsonl.zst"), _json_lines),
    ".parquet": _parquet,
    PREFIX: _dataset,
}
"""Ending or prefix of a name → its reader."""
ENDINGS = tuple(name for name in FORMATS if name != PREFIX)
FOLDER_ENDINGS = tuple(name for name in ENDINGS if name != ".md")
"""Those of the files that are read of a directory: its Markdown is often about the text, such as README.md."""
