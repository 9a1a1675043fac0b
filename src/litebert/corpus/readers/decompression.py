"""Lines of plain and compressed files as bytes."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from litebert.errors import DataError, MissingExtraError

MAX_PIECE_BYTES = 2**21
"""Maximum bytes of a line in memory; a longer line is returned in pieces, so that no line exhausts the memory."""
ZSTANDARD_CHUNK = 2**13
"""Compressed bytes read at a time; small, because a chunk is decompressed as a whole and zeros compress 30,000:1."""


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


def raw_lines(path: Path, counter: ByteCounter) -> Iterator[tuple[int, bytes]]:
    """Each line of a file with its number; files that end in .gz or .zst are decompressed.

    A line of more than `MAX_PIECE_BYTES` bytes is returned in several pieces with the same number, cut at a space if
    possible; only the last piece ends with a newline.

    Raises:
        DataError: The file cannot be read, or is compressed and damaged or truncated.
    """
    number = 1
    try:
        with path.open("rb") as file:
            counter.file = file
            for piece in _pieces(_decompressed(path, file)):
                yield number, piece
                number += piece.endswith(b"\n")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}:{number}: damaged or truncated compressed file ({error}); get a new copy") from error
    except OSError as error:
        raise DataError(f"{path}:{number}: could not be read: {error.strerror or error}; check the file") from error
    finally:
        counter.file = None


def _decompressed(path: Path, file: BinaryIO) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file)))  # pyrefly: ignore
    if path.suffix == ".zst":
        return cast(BinaryIO, io.BufferedReader(_Chunks(_zstandard_chunks(path, file))))
    return file


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    for piece in iter(partial(stream.readline, MAX_PIECE_BYTES), b""):
        is_last = len(piece) < MAX_PIECE_BYTES or piece.endswith(b"\n")
        piece = rest + piece
        cut = len(piece) if is_last else _cut_position(piece)
        yield piece[:cut]
        rest = piece[cut:]
    if rest:
        yield rest


def _cut_position(piece: bytes) -> int:
    """After the last space, or else before the last character, which may be incomplete."""
    space = piece.rfind(b" ")
    if space > 0:
        return space + 1
    cut = len(piece) - 1
    while cut > len(piece) - 4 and piece[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut or len(piece)


class _Chunks(io.RawIOBase):
    """Chunks of bytes as a readable file."""

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
    """Decompressed chunks of all frames of a file; zstandard's own reader does not report a truncated frame."""
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", extra="data", needed_for=f"{path}: reading .zst") from None
    decompressor = zstandard.ZstdDecompressor()
    frame, in_frame = decompressor.decompressobj(), False
    try:
        while chunk := file.read(ZSTANDARD_CHUNK):
            while chunk:
                yield frame.decompress(chunk)
                in_frame, chunk = not frame.eof, frame.unused_data
                frame = frame if in_frame else decompressor.decompressobj()
    except zstandard.ZstdError as error:
        raise zlib.error(str(error)) from error
    if in_frame:
        raise EOFError("the last frame is incomplete")
