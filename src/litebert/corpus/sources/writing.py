"""Write the documents of a source to one text file, which `litebert corpus build` reads."""

import contextlib
import gzip
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from litebert.corpus.readers.line_problems import REPAIRED
from litebert.corpus.readers.text_readers import visible
from litebert.errors import ConfigError, DataError
from litebert.files import atomic_file
from litebert.tokenization.normalize import without_surrogates

ENDINGS = (".txt", ".txt.gz")

Paragraphs = Iterable[str | None]
"""Paragraphs of text; None ends a document."""


@dataclass(frozen=True)
class SourceReport:
    """What was written, and what was left out."""

    file: Path
    documents: int
    paragraphs: int
    text_bytes: int
    """UTF-8 bytes before compression."""
    counts: dict[str, int]
    """What was read, repaired and skipped, by name."""

    def to_text(self) -> str:
        """A report of several lines."""
        size = f"{self.text_bytes / 1e6:,.1f} MB of text"
        written = f"{self.file}: {self.documents:,} documents, {self.paragraphs:,} paragraphs, {size}"
        return "\n".join([written, *(f"{name}: {count:,}" for name, count in self.counts.items())])


def write_documents(paragraphs: Paragraphs, file: Path, counts: Counter[str]) -> SourceReport:
    """Write one paragraph per line and a blank line between documents, atomically; DataError if there is no text."""
    validate_output(file)
    documents = lines = size = 0
    with _atomic_text_file(file) as out:
        is_open = False
        for paragraph in paragraphs:
            # A paragraph may contain characters that `str.splitlines` treats as line ends.
            joined = visible(" ".join(paragraph.split())) if paragraph else ""
            text = without_surrogates(joined)
            counts[REPAIRED] += text != joined
            if text:
                documents += not is_open
                lines += 1
                size += len(text.encode("utf-8"))
                out.write(f"{text}\n" if is_open or documents == 1 else f"\n{text}\n")
            is_open = paragraph is not None and (is_open or bool(text))
        if not documents:
            raise DataError(f"{file}: not written, because the source has no text; check the input files")
    return SourceReport(file, documents, lines, size, {name: counts[name] for name in sorted(+counts)})


def validate_output(file: Path) -> None:
    """Raise a ConfigError unless `file` can be a new text file; called before any work."""
    if not file.name.endswith(ENDINGS):
        raise ConfigError(f"{file}: expected a name ending in {' or '.join(ENDINGS)}; choose another --out")
    if file.exists():
        raise ConfigError(f"{file}: exists already; choose another --out or remove it")


@contextlib.contextmanager
def _atomic_text_file(file: Path) -> Iterator[TextIO]:
    with atomic_file(file, one_writer=True) as temporary, temporary.open("wb") as raw:
        # Without a name and a time in the header, equal text gives equal bytes.
        zipped = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if file.suffix == ".gz" else raw
        with io.TextIOWrapper(cast(BinaryIO, zipped), "utf-8", newline="\n") as out:
            yield out
