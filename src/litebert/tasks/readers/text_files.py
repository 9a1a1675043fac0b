"""UTF-8 text files, plain or compressed by gzip, and the format that the ending of a file's name says."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, TextIO, cast

from litebert.errors import DataError

GZIP: Final = ".gz"
_BYTES_PER_READ: Final = 1 << 20


def format_ending(path: Path) -> str:
    """The ending that says the format, in lower case: `.csv` of `rows.csv`, `rows.CSV` and `rows.csv.gz`."""
    return plain_name(path).suffix.lower()


def plain_name(path: Path) -> Path:
    """The name of the file without the ending of gzip: `rows.csv` of `rows.csv.gz`."""
    return Path(path.stem if _is_compressed(path) else path.name)


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == GZIP


def open_text(path: Path, *, newline: str) -> TextIO:
    """The text of a file that `check_text` accepts; `newline` as for `open`."""
    return io.TextIOWrapper(_open_bytes(path), encoding="utf-8-sig", newline=newline)


def _open_bytes(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if _is_compressed(path) else path.open("rb")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file without byte order mark; line ends as they are."""
    check_text(path)
    with open_text(path, newline="") as file:
        return file.read()


def check_text(path: Path) -> None:
    """Raise DataError unless `path` is a UTF-8 text file that is not empty; reads it once, in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, line, is_blank = 0, 1, True
    try:
        with _open_bytes(path) as file:
            while content := file.read(_BYTES_PER_READ):
                if b"\0" in content:
                    zero = offset + content.index(0)
                    raise DataError(f"{path}: binary or UTF-16 (a zero byte at offset {zero}); save it as UTF-8 text")
                decoder.decode(content)
                offset += len(content)
                line += content.count(b"\n")
                is_blank = is_blank and not content.removeprefix(codecs.BOM_UTF8).strip()
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        line += error.object.count(b"\n", 0, error.start)
        byte = error.object[error.start]
        raise DataError(f"{path}:{line}: not UTF-8 (byte 0x{byte:02x}); save the file as UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: damaged or truncated compressed file ({error}); get a new copy") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); give the path of a file") from None
    if is_blank:
        raise DataError(f"{path}: the file is empty")


def iter_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, without their LF or CRLF; blank lines at the end are left out.

    Not `str.splitlines`, which also splits at characters that occur inside texts (U+0085, U+2028).
    """
    check_text(path)
    return _lines(path)


def _lines(path: Path) -> Iterator[str]:
    blank = 0
    with open_text(path, newline="\n") as file:
        for line in file:
            text = line.removesuffix("\n").removesuffix("\r")
            if text:
                yield from [""] * blank
                yield text
            blank = 0 if text else blank + 1
