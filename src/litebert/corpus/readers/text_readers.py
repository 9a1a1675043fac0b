"""Bytes of a file to lines of text. Before: opening. After: documents.

Text, JSON lines and Parquet give the same stream: lines, and None where a document ends.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.build.sentence_splitter import cut_long
from litebert.corpus.readers.decompression import LONGEST_PIECE, ByteCounter, raw_lines
from litebert.corpus.readers.hub_text import PREFIX, rows_of
from litebert.errors import DataError, MissingExtraError

log = logging.getLogger(__name__)

Lines = Iterator[tuple[int, str | None]]
SURROGATES = re.compile("[\ud800-\udfff]")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of a file in UTF-16 or UTF-32."""
UTF_8_MARK = b"\xef\xbb\xbf"
LINE = re.compile("[^\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]+")
"""A line as `str.splitlines` has it, one at a time."""
LONGEST_ROW = 2**26
"""Bytes of the longest row of JSON that is read; unlike a line of text it cannot be taken in pieces."""
PARQUET_ROWS = 64
"""Rows of Parquet held at a time."""


class TextFile:
    """One file being read: its lines, and what had to be repaired on the way."""

    def __init__(
        self, path: Path, settings: CorpusSettings, counts: Counter[str], meter: ByteCounter | None = None
    ) -> None:
        self.path, self.settings, self.counts, self.meter = path, settings, counts, meter or ByteCounter()
        self.troubles: Counter[str] = Counter()
        self.first_trouble: dict[str, int] = {}

    def lines(self) -> Lines:
        """(line or row number, text without surrounding whitespace); None as text ends a document."""
        return FORMATS[format_of(self.path)](self)

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """(line number, bytes) without the mark that some editors put at the start of UTF-8 text."""
        lines = raw_lines(self.path, self.meter)
        for number, line in lines:
            if line.startswith(UTF_16):
                raise DataError(f"{self.path}:1: is UTF-16, expected UTF-8; convert it")
            yield number, line.removeprefix(UTF_8_MARK)
            break
        yield from lines

    def decode(self, line: bytes, number: int) -> str:
        """The text of a line; bytes that are not UTF-8 are replaced and counted, or an error, as the settings say."""
        if b"\0" in line:
            raise DataError(f"{self.path}:{number}: holds NUL bytes, so it is binary or UTF-16; convert it to UTF-8")
        try:
            return line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            self._bad_text(number, f"byte {error.start + 1} is not UTF-8")
            return line.decode("utf-8", "replace").strip()

    def paragraphs(self, text: Any, number: int) -> Lines:
        """The lines of one row's text, closed as a document; a row without text is an error or left out."""
        if not isinstance(text, str):
            self._bad_row(number, f"expected text under {self.settings.text_key!r}, found {type(text).__name__}")
            return
        if SURROGATES.search(text):
            self._bad_text(number, "holds half of a surrogate pair")
            text = SURROGATES.sub("\ufffd", text)
        if not text.strip():
            self.counts["empty documents"] += 1
        for match in LINE.finditer(text):
            for part, line in enumerate(cut_long(match[0], longest=LONGEST_PIECE)):
                self.counts["lines cut"] += part > 0
                yield number, line.replace("\0", "").strip()
        yield number, None

    def row(self, pieces: Sequence[bytes], number: int, *, size: int) -> Lines:
        """The lines of one row of JSON of `size` bytes; of one that is too long, not all pieces are there."""
        if size > LONGEST_ROW:
            self._bad_row(number, f"{size:,} bytes in one row, expected at most {LONGEST_ROW:,}")
            return
        text = self.decode(b"".join(pieces), number)
        if not text:
            return
        try:
            row = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            self._bad_row(number, f"not JSON ({error})")
            return
        yield from self.paragraphs(row.get(self.settings.text_key) if isinstance(row, dict) else row, number)

    def warn(self) -> None:
        """Say once, for the whole file, what was repaired and left out."""
        for trouble, number in self.troubles.items():
            log.warning("%s:%d: %s (%d of this file in all)", self.path, self.first_trouble[trouble], trouble, number)

    def _bad_text(self, number: int, problem: str) -> None:
        if self.settings.invalid_utf8 == "error":
            raise DataError(f"{self.path}:{number}: {problem}; convert the file to UTF-8 or set invalid_utf8=replace")
        self._count("lines repaired", number)

    def _bad_row(self, number: int, problem: str) -> None:
        if self.settings.invalid_rows == "error":
            raise DataError(f"{self.path}:{number}: {problem}; mend the row or set invalid_rows=skip")
        self._count("rows skipped", number)

    def _count(self, trouble: str, number: int) -> None:
        self.counts[trouble] += 1
        self.troubles[trouble] += 1
        self.first_trouble.setdefault(trouble, number)


def format_of(path: Path) -> str:
    """The ending of `path` that FORMATS knows, or the prefix of a data set's name."""
    if is_dataset(path):
        return PREFIX
    for ending in ENDINGS:
        if path.name.endswith(ending):
            return ending
    raise DataError(f"{path}: unknown kind of file; expected a name ending in {', '.join(ENDINGS)}")


def _text(file: TextFile) -> Lines:
    number, continues = 0, False
    for number, raw in file.raw_lines():
        line = file.decode(raw, number)
        ends = raw.endswith(b"\n")
        file.counts["lines cut"] += continues and bool(line)
        if line:
            yield number, line
        elif ends and not continues and file.settings.documents == "blank_line":
            yield number, None
        continues = not ends
    yield number + 1, None


def _json_lines(file: TextFile) -> Lines:
    pieces: list[bytes] = []
    number = size = 0
    for number, raw in file.raw_lines():
        size += len(raw)
        if size <= LONGEST_ROW:
            pieces.append(raw)
        if raw.endswith(b"\n"):
            yield from file.row(pieces, number, size=size)
            pieces, size = [], 0
    if size:
        yield from file.row(pieces, number, size=size)


def _parquet(file: TextFile) -> Lines:
    try:
        from pyarrow import ArrowException, parquet  # pyrefly: ignore[missing-import]
    except ImportError:
        raise MissingExtraError("pyarrow", extra="data", needed_for=f"{file.path}: reading Parquet") from None
    key, number = file.settings.text_key, 0
    try:
        batches = parquet.ParquetFile(file.path).iter_batches(batch_size=PARQUET_ROWS, columns=[key])
        for row in (row for batch in batches for row in batch.to_pylist()):
            number += 1
            yield from file.paragraphs(row.get(key), number)
    except ArrowException as error:
        raise DataError(f"{file.path}: not a readable Parquet file ({error}); take a fresh copy") from error


def is_dataset(path: Path) -> bool:
    """Whether it is no file but the name of a data set."""
    return str(path).startswith(PREFIX)


def _dataset(file: TextFile) -> Lines:
    for number, row in enumerate(rows_of(str(file.path)), start=1):
        yield from file.paragraphs(row.get(file.settings.text_key), number)


FORMATS: dict[str, Callable[[TextFile], Lines]] = {
    **dict.fromkeys((".txt", ".txt.gz", ".txt.zst"), _text),
    **dict.fromkeys((".jsonl", ".jsonl.gz", ".jsonl.zst"), _json_lines),
    ".parquet": _parquet,
    PREFIX: _dataset,
}
"""Ending or prefix of a name → what reads it."""
ENDINGS = tuple(name for name in FORMATS if name != PREFIX)
