"""Folders of books with one file per book, such as BookCorpus and Project Gutenberg."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from litebert.corpus.corpus_settings import CorpusSettings, InvalidUtf8, TextEncoding
from litebert.corpus.readers.documents import find_files
from litebert.corpus.readers.line_problems import LineProblems
from litebert.corpus.readers.text_readers import TextReader
from litebert.corpus.sources.writing import SourceReport, write_documents
from litebert.settings import Settings
from litebert.tokenization.letters import UNSPACED

_GUTENBERG_START = re.compile(r"\*\*\* ?START OF (THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
_GUTENBERG_END = re.compile(r"(\*\*\* ?END OF (THE|THIS) |End of (The )?)PROJECT GUTENBERG", re.IGNORECASE)
_KINDS = "chapter|book|part|act|letter|canto|stave|kapitel|chapitre|cap[ií]tulo|luku|глава"
_NUMBERS = (
    r"[ivxlcdm]+|\d+|(the\s+)?(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|first|second|third|last)"
)
_HEADING = re.compile(
    rf"(?!.*[,;])({_KINDS})\s+"
    rf"(({_NUMBERS})\s*([.:—–-].*)?$"  # its number, and a title after a sign
    r"""|(?!.*[.!?]["'”’)]*$)(\d+\b.*|[^\W_]+\b))""",  # any word, unless the line ends as a sentence does
    re.IGNORECASE,
)
_MARKDOWN_HEADING = re.compile(r"#{1,6}(\s|$)")
_SPACED_WORD = rf"[^\W{UNSPACED}]"
_EMPHASIS = re.compile(
    rf"(?<!{_SPACED_WORD})(?<![\\_*])([_*]{{1,3}})(?![\s_*])(.+?)(?<![\s\\_*])\1(?!{_SPACED_WORD}|[_*])"
)
"""Markdown's `_word_`, `*word*`, `**word**`, also inside a line of a script without spaces; inner ones are found once
the outer ones are removed."""
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!~-])")
_UNSPACED_LINE_END = re.compile(rf"(?<=[{UNSPACED}\uff00-\uffef])\n(?=[{UNSPACED}\uff00-\uffef])")
"""The end of a line inside text of a script without spaces, or its punctuation."""
_MAX_HEADING_CHARS = 60
"""A longer line that starts like a heading is a sentence."""

Lines = Iterable[str | None]
"""Lines of a book; None for blank lines."""


class BookSettings(Settings):
    """How files of books become documents."""

    documents: Literal["book", "chapter"] = "book"
    """What a document is: a whole file, or the text between two lines such as "Chapter IV", in Markdown between two
    headings."""
    lines: Literal["paragraph", "wrapped", "markdown"] = "paragraph"
    """`paragraph`: every line is a sentence or a paragraph, as in BookCorpus. `wrapped`: a paragraph has several lines
    and ends at a blank line, as in Project Gutenberg. `markdown`: the same, without headings (`#`) and
    marks of emphasis."""
    gutenberg: bool = False
    """Leave out the text before the START and after the END line of Project Gutenberg; count files without them."""
    encoding: TextEncoding = "utf-8"
    """Encoding of the files, such as cp1252 or gbk: an extension of ASCII that Python knows. Latin-1 is read as
    cp1252."""
    invalid_utf8: InvalidUtf8 = "replace_few"
    """Bytes that the encoding does not have, as in `corpus build`."""


def write_books(patterns: Sequence[str | Path], settings: BookSettings, out: Path) -> SourceReport:
    """Write every book of files, globs and directories to `out`, in the order of their paths."""
    counts: Counter[str] = Counter()
    return write_documents(_documents(find_files(patterns, counts), settings, counts), out, counts)


def _documents(files: Sequence[Path], settings: BookSettings, counts: Counter[str]) -> Iterator[str | None]:
    problems = LineProblems()
    reading = CorpusSettings(encoding=settings.encoding, invalid_utf8=settings.invalid_utf8)
    for path in files:
        book = TextReader(path, reading, counts)
        lines: Lines = (text for _, text in book.lines())
        if settings.gutenberg:
            lines = _without_licence(lines, counts)
        if settings.lines == "markdown":
            lines = _without_markup(_unwrapped(_with_separate_headings(lines)), counts)
        else:
            paragraphs = _unwrapped(lines) if settings.lines == "wrapped" else filter(None, lines)
            lines = _in_chapters(paragraphs, counts) if settings.documents == "chapter" else paragraphs
        yield from lines if settings.documents == "chapter" else filter(None, lines)
        yield None
        counts["books"] += 1
        problems.add(book.problems)
        for part in (book.problems, problems):
            part.refuse_many_damaged(reading)
    problems.warn()


def _without_licence(lines: Lines, counts: Counter[str]) -> Iterator[str | None]:
    """The lines between START and END; all lines of a book without a START line."""
    before: list[str | None] = []
    is_inside = False
    for line in lines:
        if not is_inside and line and _GUTENBERG_START.search(line):
            before, is_inside = [], True
        elif is_inside and line and _GUTENBERG_END.search(line):
            return
        elif is_inside:
            yield line
        else:
            before.append(line)
    if not is_inside:
        counts["books without a Gutenberg header"] += 1
    yield from before


def _unwrapped(lines: Lines) -> Iterator[str]:
    """Join the lines of each paragraph by spaces, where its script has spaces."""
    for has_text, paragraph in groupby(lines, key=bool):
        if has_text:
            yield _UNSPACED_LINE_END.sub("", "\n".join(filter(None, paragraph))).replace("\n", " ")


def _with_separate_headings(lines: Lines) -> Iterator[str | None]:
    """Markdown in which every heading is a paragraph of its own."""
    for line in lines:
        yield from (None, line, None) if line and _is_markdown_heading(line) else (line,)


def _is_markdown_heading(line: str) -> bool:
    return _MARKDOWN_HEADING.match(line) is not None


def _without_markup(paragraphs: Iterable[str], counts: Counter[str]) -> Iterator[str | None]:
    """The text without marks of emphasis, with the end of a chapter in the place of every heading."""
    for paragraph in paragraphs:
        if _is_markdown_heading(paragraph):
            counts["chapter headings"] += 1
            yield None
        else:
            yield _without_emphasis(paragraph)


def _without_emphasis(paragraph: str) -> str:
    while (inner := _EMPHASIS.sub(r"\2", paragraph)) != paragraph:
        paragraph = inner
    return _ESCAPED.sub(r"\1", paragraph)


def _in_chapters(lines: Iterable[str], counts: Counter[str]) -> Iterator[str | None]:
    """The text with the end of a document at every heading; headings are left out."""
    for line in lines:
        if _is_heading(line):
            counts["chapter headings"] += 1
            yield None
        else:
            yield line


def _is_heading(line: str) -> bool:
    """Whether a line is short and begins like a heading; a lower-case word after that is of prose: `Part of me …`."""
    match = _HEADING.match(line) if len(line) <= _MAX_HEADING_CHARS else None
    return match is not None and not line[match.end() :].lstrip()[:1].islower()
