"""Articles of Wikipedia dumps, or of the output of WikiExtractor, as documents.

A dump is one XML file of any size, usually `…-pages-articles.xml.bz2` or its multistream variant; one page is in memory
at a time.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

from litebert.corpus.readers.decompression import decompressed, translate_read_errors
from litebert.corpus.sources.wikitext import paragraphs
from litebert.corpus.sources.writing import SourceReport, write_documents
from litebert.errors import DataError

_DISAMBIGUATION = re.compile(
    r"__DISAMBIG__|\{\{\s*(?:[^{}|\n]*\b)?"
    r"(?:disambig\w*|dab|hndis|geodis|begriffsklärung|homonymie|desambig\w*|disambigua|doorverwijspagina|täsmennyssivu|"
    r"неоднозначность|曖昧さ回避|aimai|消歧义|消歧義|동음이의\w*|توضيح|ujednoznacznienie)\s*(?:\||\}\})",
    re.IGNORECASE,
)
_STANDARD_NAMESPACES = frozenset(("file", "image", "media", "category", "template", "wikipedia", "portal", "help"))


def write_wikipedia(sources: Sequence[Path], out: Path) -> SourceReport:
    """Write every article of dumps, or of files and directories in the JSON format of WikiExtractor."""
    counts: Counter[str] = Counter()
    return write_documents(_documents(sources, counts), out, counts)


def _documents(sources: Sequence[Path], counts: Counter[str]) -> Iterator[str | None]:
    for source in sources:
        if not source.exists():
            raise DataError(f"{source}: no such file or directory; give a dump or the output of WikiExtractor")
        files = sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]
        for path in files:
            yield from _articles(path, counts) if ".xml" in path.suffixes else _extracted(path, counts)


def _articles(path: Path, counts: Counter[str]) -> Iterator[str | None]:
    """Paragraphs of every page that is an article."""
    namespaces = set(_STANDARD_NAMESPACES)
    for page in _pages(path, namespaces):
        text = page.findtext("{*}revision/{*}text") or ""
        counts["pages"] += 1
        if reason := _reason_to_skip(page, text):
            counts[reason] += 1
            continue
        found = list(paragraphs(text, namespaces=namespaces))
        counts["articles" if found else "articles without prose"] += 1
        yield from found
        yield None


def _reason_to_skip(page: ElementTree.Element, text: str) -> str | None:
    if (page.findtext("{*}ns") or "0") != "0":
        return "pages outside the article namespace"
    if page.find("{*}redirect") is not None or text.lstrip()[:9].lower() == "#redirect":
        return "redirects"
    return "disambiguation pages" if _DISAMBIGUATION.search(text) else None


def _pages(path: Path, namespaces: set[str]) -> Iterator[ElementTree.Element]:
    """Every page of a dump, unless it is damaged (DataError); the namespaces in its header go to `namespaces`."""
    pages = 0
    try:
        with translate_read_errors(lambda: f"{path}: after {pages:,} pages"), path.open("rb") as file:
            for element in _elements(path, decompressed(path, file)):
                if _name(element) == "page":
                    pages += 1
                    yield element
                elif element.get("key") != "0":
                    namespaces.add((element.text or "").lower())
    except ElementTree.ParseError as error:
        raise DataError(f"{path}:{error.position[0]}: not XML, or truncated ({error}); get a new copy") from None


def _elements(path: Path, file: BinaryIO) -> Iterator[ElementTree.Element]:
    """The elements `namespace` and `page` of a dump; each is freed before the next is read."""
    events = ElementTree.iterparse(file, events=("start", "end"))
    _, root = next(events)
    if _name(root) != "mediawiki":
        raise DataError(f"{path}:1: not a dump: expected the element mediawiki, found {_name(root)}; give another file")
    for event, element in events:
        if event == "end" and _name(element) in ("namespace", "page"):
            yield element
            if _name(element) == "page":
                root.clear()


def _extracted(path: Path, counts: Counter[str]) -> Iterator[str | None]:
    """Articles of a file that WikiExtractor wrote with `--json`; the text may start with the title."""
    with translate_read_errors(lambda: str(path)), path.open("rb") as file:
        for number, line in enumerate(decompressed(path, file), start=1):
            title, text = _row(line, where=f"{path}:{number}")
            lines = [line for line in text.splitlines() if line.strip()]
            found = lines[1:] if lines and lines[0].strip() == title else lines
            counts["pages"] += 1
            counts["articles" if found else "articles without prose"] += 1
            yield from found
            yield None


def _row(line: bytes, *, where: str) -> tuple[str, str]:
    try:
        row: Any = json.loads(line)
        title, text = row["title"], row["text"]
    except (ValueError, KeyError, TypeError):
        raise DataError(
            f"{where}: expected a JSON object with title and text; give a dump (….xml.bz2) or run WikiExtractor --json"
        ) from None
    return title.strip(), html.unescape(text)


def _name(element: ElementTree.Element) -> str:
    """The tag without its XML namespace."""
    return element.tag.rpartition("}")[2]
