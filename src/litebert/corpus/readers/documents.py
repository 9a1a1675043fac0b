"""Documents from files, globs, directories and data sets."""

import glob
import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.decompression import ByteCounter
from litebert.corpus.readers.folders import files_below
from litebert.corpus.readers.line_problems import LineProblems
from litebert.corpus.readers.text_readers import FOLDER_ENDINGS, TextReader, format_of
from litebert.errors import DataError
from litebert.hub_datasets import is_dataset_name

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Document:
    """A text whose sentences belong together; examples never cross documents, except for next-sentence pairs."""

    name: str
    """File and line, such as `books.txt:120`."""
    sentences: tuple[str, ...]
    """Lines in order: sentences, or paragraphs that are split into sentences later."""
    continues: bool = False
    """Whether it is a further part of the previous document, which was too long for one shard."""
    first_part_digest: bytes | None = None
    """Digest of the first part, if it is a further part: it decides the split, so that all parts are in the same."""

    def digest(self) -> bytes:
        """Digest of the text."""
        return hashlib.blake2b(self.text().encode("utf-8", "replace"), digest_size=16).digest()

    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.sentences)


def find_files(patterns: Iterable[str | Path], counts: Counter[str] | None = None) -> list[Path]:
    """The files that match paths, globs and directories, each once, sorted by path; then data sets, by name.

    Directories are searched recursively for files of a known format, except Markdown, which is to be named. Files of
    other formats are counted in `counts`; hidden files are ignored. DataError if a pattern matches nothing, or a named
    file has an unknown format.
    """
    counts = Counter() if counts is None else counts
    matches = [path for pattern in patterns for path in _matches(str(pattern), counts)]
    datasets = sorted({path for path in matches if is_dataset_name(path)})
    files = {path.resolve(): path for path in matches if not is_dataset_name(path)}
    return [*sorted(files.values()), *datasets]


def total_bytes(files: Iterable[Path]) -> int:
    """Size on disk, or 0 if it is unknown because a data set is among the files."""
    files = list(files)
    return 0 if any(map(is_dataset_name, files)) else sum(file.stat().st_size for file in files)


def read_documents(
    files: Iterable[Path], settings: CorpusSettings, counts: Counter[str], bytes_read: ByteCounter | None = None
) -> Iterator[Document]:
    """Every document of the files, in order.

    What is left out or repaired is counted by name in `counts`, and the bytes of the files in `bytes_read`; DataError
    after a file with which too many lines are damaged (`invalid_utf8`).
    """
    bytes_read, problems = bytes_read or ByteCounter(), LineProblems()
    for path in files:
        before = counts["documents read"]
        file = TextReader(path, settings, counts, bytes_read)
        yield from _documents(file)
        problems.add(file.problems)
        for each in (file.problems, problems):
            each.refuse_many_damaged(settings)
        bytes_read.finish(0 if is_dataset_name(path) else path.stat().st_size)
        counts["files read"] += 1
        if counts["documents read"] == before:
            counts["files without text"] += 1
            logger.warning("%s: no text in this file", path)
    problems.warn()


def _matches(pattern: str, counts: Counter[str]) -> list[Path]:
    path = Path(pattern)
    if is_dataset_name(path):
        return [path]
    if path.is_dir():
        return _files_in(path, counts)
    # pathlib does not accept absolute patterns.
    matches = [path] if path.exists() else [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207
    if not matches:
        raise DataError(f"{pattern}: no such file, and no file matches it as a pattern; give an existing path")
    files = [match for match in matches if not match.is_dir()]
    for file in files:
        format_of(file)
    directories = {match for match in matches if match.is_dir()}
    outer = [directory for directory in sorted(directories) if directories.isdisjoint(directory.parents)]
    found = [*files, *(file for directory in outer for file in _readable_files(directory, counts))]
    if not found:
        raise DataError(f"{pattern}: matches directories without text files only; expected {_ENDINGS}")
    return found


_ENDINGS: Final = f"files ending in {', '.join(FOLDER_ENDINGS)}"


def _files_in(directory: Path, counts: Counter[str]) -> list[Path]:
    if readable := _readable_files(directory, counts):
        return readable
    named = f", or {directory}/*.md by name" if any(file.suffix == ".md" for file in files_below(directory)) else ""
    raise DataError(f"{directory}: no text files in this directory; expected {_ENDINGS}{named}")


def _readable_files(directory: Path, counts: Counter[str]) -> list[Path]:
    """The files of a known format, except Markdown; the others are counted."""
    files = list(files_below(directory))
    readable = [file for file in files if _is_readable(file)]
    if others := [file for file in files if not _is_readable(file)]:
        counts["files of unknown format"] += len(others)
        details = (directory, len(others), others[0].name)
        logger.warning("%s: %d files of unknown format are not read, such as %s", *details)
    return readable


def _is_readable(file: Path) -> bool:
    return file.name.lower().endswith(FOLDER_ENDINGS)


def _documents(file: TextReader) -> Iterator[Document]:
    """Documents of one file. A document larger than a shard is cut, so that the memory is bounded."""
    lines: list[str] = []
    size = first = 0
    continues = False
    first_part_digest: bytes | None = None
    for number, line in file.lines():
        is_full = bool(line) and size >= file.settings.shard_bytes
        if lines and (line is None or is_full):
            file.counts["document parts" if continues else "documents read"] += 1
            document = Document(f"{file.path}:{first}", tuple(lines), continues, first_part_digest)
            yield document
            first_part_digest = (first_part_digest or document.digest()) if is_full else None
            lines, size, continues = [], 0, is_full
        if line:
            first = first if lines else number
            lines.append(line)
            size += len(line.encode("utf-8"))
        elif line is None:
            continues, first_part_digest = False, None
