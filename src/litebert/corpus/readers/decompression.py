"""Plain and compressed files to lines of bytes. Before: a file on disk. After: reading, which makes text of them."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from litebert.errors import DataError, MissingExtraError

LONGEST_PIECE = 2**21
"""Bytes of a line held at a time; a longer line comes in pieces, so that no line can exhaust the memory."""
ZSTANDARD_CHUNK = 2**13
"""Compressed bytes taken at a time. Small, because a chunk is decompressed whole, and zeros shrink by 30,000."""


@dataclass
class ByteCounter:
    """How much of all files has been read, in bytes on disk."""

    total: int = 0
    finished: int = 0
    """Bytes of the files that are done with."""
    file: BinaryIO | None = None
    """The one being read."""

    @property
    def read(self) -> int:
        """Bytes read so far."""
        return self.finished + (self.file.tell() if self.file else 0)

    def finish(self, size: int) -> None:
        """Count a file of so many bytes as read."""
        self.file = None
        self.finished += size


def raw_lines(path: Path, meter: ByteCounter) -> Iterator[tuple[int, bytes]]:
    """Each line of a file with its number, decompressed if the name ends in .gz or .zst.

    A line of more than `LONGEST_PIECE` bytes comes in several pieces of the same number, cut at a space if there is
    one; only the last ends with a newline.

    Raises:
        DataError: A file that cannot be read, or a compressed one that is damaged or cut off.
    """
    number = 1
    try:
        with path.open("rb") as file:
            meter.file = file
            for piece in _pieces(_decompressed(path, file)):
                yield number, piece
                number += piece.endswith(b"\n")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}:{number}: damaged or cut-off compressed file ({error}); take a fresh copy") from error
    except OSError as error:
        raise DataError(f"{path}:{number}: could not be read: {error.strerror or error}; check the file") from error
    finally:
        meter.file = None


def _decompressed(path: Path, file: BinaryIO) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file)))  # pyrefly: ignore
    if path.suffix == ".zst":
        return cast(BinaryIO, io.BufferedReader(_Chunks(_zstandard_chunks(path, file))))
    return file


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    for piece in iter(partial(stream.readline, LONGEST_PIECE), b""):
        is_last = len(piece) < LONGEST_PIECE or piece.endswith(b"\n")
        piece = rest + piece
        cut = len(piece) if is_last else _place_to_cut(piece)
        yield piece[:cut]
        rest = piece[cut:]
    if rest:
        yield rest


def _place_to_cut(piece: bytes) -> int:
    """Behind the last space, or else before the last character, which may be incomplete."""
    space = piece.rfind(b" ")
    if space > 0:
        return space + 1
    cut = len(piece) - 1
    while cut > len(piece) - 4 and piece[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut or len(piece)


class _Chunks(io.RawIOBase):
    """Chunks of bytes as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _zstandard_chunks(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Chunks of all frames of a file; the package's own reader takes a cut-off frame for the end of the text."""
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", extra="data", needed_for=f"{path}: reading .zst") from None
    decompressor = zstandard.ZstdDecompressor()
    frame, inside = decompressor.decompressobj(), False
    try:
        while chunk := file.read(ZSTANDARD_CHUNK):
            while chunk:
                yield frame.decompress(chunk)
                inside, chunk = not frame.eof, frame.unused_data
                frame = frame if inside else decompressor.decompressobj()
    except zstandard.ZstdError as error:
        raise zlib.error(str(error)) from error
    if inside:
        raise EOFError("the last frame has no end")
