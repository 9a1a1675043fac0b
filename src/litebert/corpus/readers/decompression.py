"""Lines of plain and compressed files as bytes."""

import gzip
import sys
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from litebert.errors import DataError, import_extra

MAX_PIECE_BYTES = 2**21
"""Maximum bytes of a line in memory; a longer line is returned in pieces, so that no line exhausts the memory."""
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
DECOMPRESSORS = {".gz": "gzip", ".bz2": "bz2", ".zst": ZSTD}
"""Ending → module; all of them read files of several parts, such as multistream dumps of Wikipedia."""


@dataclass
class ByteCounter:
    """Number of bytes on disk that have been read, over several files."""

    total: int = 0
    finished: int = 0
    """Bytes of the files that are completely read."""
    file: BinaryIO | None = None
    """The file that is being read."""

    @property
    def read(self) -> int:
        """Bytes read so far."""
        return self.finished + (self.file.tell() if self.file else 0)

    def finish(self, size: int) -> None:
        """Count a file of `size` bytes as read."""
        self.file = None
        self.finished += size


def raw_lines(path: Path, counter: ByteCounter, *, encoding: str = "utf-8") -> Iterator[tuple[int, bytes]]:
    """Each line of a file with its number; files that end in .gz, .bz2 or .zst are decompressed.

    A line of more than `MAX_PIECE_BYTES` bytes is returned in several pieces with the same number, cut at a space if
    possible, or else between two characters of `encoding`; only the last piece ends with a newline. DataError if the
    file cannot be read, or is damaged or truncated.
    """
    number = 1
    try:
        with translate_read_errors(lambda: f"{path}:{number}"), path.open("rb") as file:
            counter.file = file
            for piece in _pieces(decompressed(path, file), encoding):
                yield number, piece
                number += piece.endswith(b"\n")
    finally:
        counter.file = None


def decompressed(path: Path, file: BinaryIO) -> BinaryIO:
    """The content of the open file at `path`, decompressed according to its ending."""
    ending = path.suffix.lower()
    if ending not in DECOMPRESSORS:
        return file
    needed_for = f"{path}: reading {ending}"
    return import_extra(DECOMPRESSORS[ending], extra="data", needed_for=needed_for, package=ZSTD).open(file, "rb")


@contextmanager
def translate_read_errors(where: Callable[[], str]) -> Iterator[None]:
    """Turn errors on reading and decompressing into a DataError that begins with the position, `where()`."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, getattr(sys.modules.get(ZSTD), "ZstdError", EOFError)) as error:
        raise DataError(f"{where()}: damaged or truncated compressed file ({error}); get a new copy") from error
    except OSError as error:
        raise DataError(f"{where()}: could not be read: {error.strerror or error}; check the file") from error


def _pieces(stream: BinaryIO, encoding: str) -> Iterator[bytes]:
    rest = b""
    for piece in iter(partial(stream.readline, MAX_PIECE_BYTES), b""):
        is_last = len(piece) < MAX_PIECE_BYTES or piece.endswith(b"\n")
        piece = rest + piece
        cut = len(piece) if is_last else _cut_position(piece, encoding)
        yield piece[:cut]
        rest = piece[cut:]
    if rest:
        yield rest


def _cut_position(piece: bytes, encoding: str) -> int:
    """After the last space, or else before the last character, which may be incomplete."""
    space = piece.rfind(b" ")
    if space > 0:
        return space + 1
    decoder = getincrementaldecoder(encoding)("replace")
    decoder.decode(piece[:-1])
    first_bytes, _ = decoder.getstate()
    return len(piece) - 1 - len(first_bytes) or len(piece)
