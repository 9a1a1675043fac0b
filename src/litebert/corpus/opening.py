"""Plain and compressed files to lines of bytes. Before: a file on disk. After: reading, which makes text of them."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from litebert.errors import DataError, MissingExtraError

CHUNK_BYTES = 2**20


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, decompressed if it ends in .gz or .zst.

    Raises:
        DataError: A file that cannot be read, or a compressed one that is damaged or cut off.
    """
    lines = {".gz": _gzip_lines, ".zst": _zstandard_lines}.get(path.suffix, _plain_lines)
    try:
        yield from lines(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: damaged or cut-off compressed file ({error}); take a fresh copy") from error
    except OSError as error:
        raise DataError(f"{path}: could not be read: {error.strerror or error}; check the file") from error


def _plain_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _gzip_lines(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        yield from file


def _zstandard_lines(path: Path) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", extra="data", needed_for=f"{path}: reading .zst") from None
    try:
        yield from _split(_decompressed(path, zstandard.ZstdDecompressor()))
    except zstandard.ZstdError as error:
        raise zlib.error(str(error)) from error


def _decompressed(path: Path, decompressor: Any) -> Iterator[bytes]:
    """Chunks of all frames of a file; the package's own reader takes a cut-off frame for the end of the text."""
    frame = decompressor.decompressobj()
    inside = False
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            while chunk:
                yield frame.decompress(chunk)
                inside, chunk = not frame.eof, frame.unused_data
                frame = frame if inside else decompressor.decompressobj()
    if inside:
        raise EOFError("the last frame has no end")


def _split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines, as iterating over a binary file gives them."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
