"""Files to documents. Before: the user's files, globs and directories. After: sentences and shards (build)."""

import glob
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.readers.decompression import ByteCounter
from litebert.corpus.readers.text_readers import ENDINGS, TextFile, format_of, is_dataset
from litebert.errors import DataError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Document:
    """A text whose sentences belong together: nothing is paired across documents, except on purpose."""

    name: str
    """Where it comes from, such as `books.txt:120`."""
    sentences: tuple[str, ...]
    """Its lines in order: sentences, or paragraphs that are still to be split."""
    continues: bool = False
    """Whether it is a further part of the document before it, which was too long for one shard."""


def find_files(patterns: Iterable[str | Path], counts: Counter[str] | None = None) -> list[Path]:
    """The files that paths, globs and directories name, each once, sorted by path; then data sets (`hf:NAME`), by name.

    Directories are searched recursively for names of a known format; others are counted in `counts`, hidden files are
    not looked at.

    Raises:
        DataError: A pattern that matches nothing, or a file of unknown format that was named itself.
    """
    counts = Counter() if counts is None else counts
    matches = [path for pattern in patterns for path in _matches(str(pattern), counts)]
    datasets = sorted({path for path in matches if is_dataset(path)})
    files = {path.resolve(): path for path in matches if not is_dataset(path)}
    return [*sorted(files.values()), *datasets]


def total_bytes(files: Iterable[Path]) -> int:
    """Size on disk; 0, for unknown, if a data set is among them."""
    files = list(files)
    return 0 if any(map(is_dataset, files)) else sum(file.stat().st_size for file in files)


def read_documents(
    files: Iterable[Path], settings: CorpusSettings, counts: Counter[str], meter: ByteCounter | None = None
) -> Iterator[Document]:
    """Every document of the files, in order; whatever is left out or repaired is counted by name in `counts`.

    `meter` tells at any time how much of the files has been read.
    """
    meter = meter or ByteCounter()
    for path in files:
        before = counts["documents read"]
        yield from _documents(TextFile(path, settings, counts, meter))
        meter.finish(0 if is_dataset(path) else path.stat().st_size)
        counts["files read"] += 1
        if counts["documents read"] == before:
            counts["files without text"] += 1
            log.warning("%s: holds no text", path)


def _matches(pattern: str, counts: Counter[str]) -> list[Path]:
    path = Path(pattern)
    if is_dataset(path):
        return [path]
    if path.is_dir():
        return _inside(path, counts)
    if path.exists():
        format_of(path)
        return [path]
    # pathlib takes no absolute patterns
    matches = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207
    if not matches:
        raise DataError(f"{pattern}: no such file, and nothing matches it as a pattern; give an existing path")
    for match in matches:
        format_of(match)
    return matches


def _inside(directory: Path, counts: Counter[str]) -> list[Path]:
    files = [path for path in directory.rglob("*") if path.is_file() and not _is_hidden(path, root=directory)]
    readable = [file for file in files if file.name.endswith(ENDINGS)]
    if not readable:
        raise DataError(f"{directory}: no text in this directory; expected files ending in {', '.join(ENDINGS)}")
    if len(readable) < len(files):
        counts["files of other kinds"] += len(files) - len(readable)
        log.warning("%s: %d files of other kinds are not read", directory, len(files) - len(readable))
    return readable


def _is_hidden(path: Path, *, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _documents(file: TextFile) -> Iterator[Document]:
    """Documents of one file. A document that would overfill a shard is cut, so that memory stays bounded."""
    lines: list[str] = []
    size = first = 0
    continues = False
    for number, line in file.lines():
        is_full = bool(line) and size >= file.settings.shard_bytes
        if lines and (line is None or is_full):
            file.counts["documents cut" if continues else "documents read"] += 1
            yield Document(f"{file.path}:{first}", tuple(lines), continues=continues)
            lines, size, continues = [], 0, is_full
        if line:
            first = first if lines else number
            lines.append(line)
            size += len(line.encode("utf-8"))
        elif line is None:
            continues = False
    file.warn()
