"""Articles of Wikipedia dumps, or of the output of WikiExtractor, as documents.

A dump is one XML file of any size, usually `…-pages-articles.xml.bz2` or its multistream variant; one page is in memory
at a time. As in BERT, "only the text passages, ignoring lists, tables, and headers" of its wikitext are used. Templates
are not expanded: those with words of the sentence are replaced by these words, the others are removed with the brackets
around them.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

from litebert.corpus.readers.decompression import decompressed, translate_read_errors
from litebert.corpus.readers.folders import files_below
from litebert.corpus.sources.writing import SourceReport, write_documents
from litebert.errors import DataError

MISSED = "templates removed inside a sentence"
"""Name of their count: templates with which words may be missing."""
_DISAMBIGUATION = re.compile(
    r"__DISAMBIG__|\{\{\s*+(?:(?!(?:about|for|hatnote|nota|other|redirect|see)\b)(?:[^{}|\n]*\b)?(?:disambig\w*|dab)|"
    r"hndis|geodis|begriffsklärung|homonymie|desambig\w*|doorverwijspagina|täsmennyssivu|"
    r"неоднозначность|曖昧さ回避|aimai|消歧义|消歧義|동음이의\w*|توضيح|ujednoznacznienie)\s*(?:\||\}\})",
    re.IGNORECASE,
)
"""Templates of disambiguation pages. English has one for each kind of name, `Human name disambiguation`; other words
before such a name are those of a note at the top of an article, `Ver desambiguação`, `For disambiguation`."""
_STANDARD_NAMESPACES = frozenset(("file", "image", "media", "category", "template", "wikipedia", "portal", "help"))
_FILE_ALIASES = frozenset(
    (
        *("bild", "imagen", "imagem", "immagine", "afbeelding", "grafika", "kuva", "kép", "resim", "hình"),
        *("изображение", "صورة", "تصویر", "画像", "图像", "圖像", "文件", "檔案", "그림"),
    )
)
"""Other names of the namespace of files than that in the header of a dump, such as `Bild` beside `Datei`."""

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REMOVED_ELEMENTS = (
    "ref|math|chem|ce|gallery|timeline|syntaxhighlight|source|code|pre|score|hiero|graph|mapframe|maplink|imagemap|"
    "templatestyles|templatedata|table|references|section|inputbox|categorytree|includeonly|noinclude"
)
_EMPTY_ELEMENT = re.compile(rf"<({_REMOVED_ELEMENTS})\b[^<>]*/>", re.IGNORECASE)
_ELEMENT = re.compile(rf"<({_REMOVED_ELEMENTS})\b[^<>]*>(?:(?!<\1\b).)*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_MAX_DEPTH = 20
"""Maximum depth of nested elements; no article needs more, and it bounds the time for malicious pages."""
_NOWIKI = re.compile(r"</?nowiki\s*/?>", re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|hr)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_BRACKETS = re.compile(r"\{\{|\}\}|\[\[|\]\]|^[ \t:]*\{\||^[ \t]*\|\}(?!\})", re.MULTILINE)
_CLOSES = {"}}": "{{", "]]": "[[", "|}": "{|"}
_EXTERNAL_LINK = re.compile(r"\[(?:https?:|ftp:|mailto:)?//[^\s\[\]]+(?:[ \t]+([^\[\]\n]*))?\]")
_QUOTES = re.compile(r"'{2,}")
_MAGIC_WORD = re.compile(r"__[A-Z]{4,}__")
_PARAMETER = re.compile(r"\{\{\{[^{}]*\}\}\}")
_HIDDEN_VARIANTS = re.compile(r"-\{[HT-]\|[^{}]*\}-")
_VARIANTS = re.compile(r"-\{(?:[^{}|]*\|)?(?:[^{};:|]*:)?([^{};]*)[^{}]*\}-")
"""Chinese articles have variants of words for several regions, `-{zh-hans:…;zh-hant:…}-`; the first one is used. There
may be a flag before them, `-{A|…}-`; those of titles and of rules for the rest of an article (H, T, -) are hidden."""
_TIDYING = {
    re.compile(r"[ \t\u00a0]+"): " ",
    re.compile(r"[ \t]*[(（][\s,;:/–—-]*[)）]"): "",
    re.compile(r"([(（])[\s,;:]+"): r"\1",
    re.compile(r"[\s,;:]+([)）])"): r"\1",
    re.compile(r"[ \t]+([,.;:!?])(?=\s|$)"): r"\1",
}
"""Removal of the empty brackets, punctuation and spaces that remain after the removal of templates, in order."""
_NO_PROSE = tuple("*#;:|!={}")
"""First characters of list items, cells of broken tables and headings."""
_LANGUAGE_LINK = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?")
_WORDS_OF_TEMPLATES = {
    **dict.fromkeys(("lang", "langue", "llang", "transl", "transliteration", "abbr", "tooltip", "nihongo"), "{1}"),
    **dict.fromkeys(("nowrap", "nobr", "nobold", "small", "big", "em", "strong", "sic", "smallcaps", "sc"), "{0}"),
    **dict.fromkeys(("val", "circa", "c.", "ca.", "s", "esd", "число", "ruby", "ルビ"), "{0}"),
    **dict.fromkeys(("quote", "blockquote", "cquote", "text", "center", "citation", "souverain"), "{0}"),
    **dict.fromkeys(("ill", "interlanguage link", "lien", "仮リンク", "le"), "{0}"),
    **dict.fromkeys(("нп", "нп1", "нп2", "нп3", "нп4", "нп5", "не переведено", "не переведено 5", "iw"), "{1}|{0}"),
    **dict.fromkeys(("unité", "nombre", "nb", "unidad", "fmtn"), "{0} {1}"),
    **dict.fromkeys(("date", "date-"), "{0} {1} {2}"),
    **dict.fromkeys(("読み仮名", "読み仮名 ruby不使用"), "{0}（{1}）"),
}
"""Templates whose words belong to the sentence → their words, by the indices of the arguments; of several forms, with
`|` between them, the first that is not empty."""
_CENTURIES = {"s": "{}e siècle", "s-": "{}e siècle", "siglo": "siglo {}", "séc": "século {}"}
"""Templates with a Roman numeral → their words; with another argument `s` is a template of Russian."""
_ROMAN_NUMERAL = re.compile("[IVX]+")
_BEFORE_THE_NEXT_WORD = re.compile(r"(?:[\w,]|^)[ \u00a0]\Z")
"""Text before a template that is not the first of its line, nor attached to a word as references are."""
_RANGE_WORDS = frozenset(("to", "-", "–", "and", "or", "x", "by"))
"""Words between two numbers of a `convert` template."""


def write_wikipedia(sources: Sequence[Path], out: Path) -> SourceReport:
    """Write every article of dumps, or of files and directories in the JSON format of WikiExtractor."""
    counts: Counter[str] = Counter()
    return write_documents(_documents(sources, counts), out, counts)


def _documents(sources: Sequence[Path], counts: Counter[str]) -> Iterator[str | None]:
    for source in sources:
        if not source.exists():
            raise DataError(f"{source}: no such file or directory; give a dump or the output of WikiExtractor")
        for path in sorted(files_below(source)) if source.is_dir() else [source]:
            # `.xml-p1p41242`: a part of the dump of a large wiki.
            is_dump = any(suffix == ".xml" or suffix.startswith(".xml-p") for suffix in path.suffixes)
            yield from _articles(path, counts) if is_dump else _extracted(path, counts)


def _articles(path: Path, counts: Counter[str]) -> Iterator[str | None]:
    """Paragraphs of every page that is an article."""
    namespaces = set(_STANDARD_NAMESPACES | _FILE_ALIASES)
    for page in _pages(path, namespaces):
        text = page.findtext("{*}revision/{*}text") or ""
        counts["pages"] += 1
        if reason := _reason_to_skip(page, text):
            counts[reason] += 1
            continue
        found = list(paragraphs(text, namespaces=namespaces, counts=counts))
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
        return row["title"].strip(), html.unescape(row["text"].strip())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError(
            f"{where}: expected a JSON object with title and text; give a dump (….xml.bz2) or run WikiExtractor --json"
        ) from None


def _name(element: ElementTree.Element) -> str:
    """The tag without its XML namespace."""
    return element.tag.rpartition("}")[2]


def paragraphs(wikitext: str, *, namespaces: Collection[str] = (), counts: Counter[str] | None = None) -> Iterator[str]:
    """The paragraphs of prose; `namespaces` are the prefixes of links to files and categories, in lower case."""
    counts = Counter() if counts is None else counts
    text = _COMMENT.sub("", wikitext)
    text = _without_elements(text)
    text = _without_brackets(_PARAMETER.sub("", _NOWIKI.sub("", text)), namespaces, counts)
    text = _TAG.sub("", _BREAK.sub(" ", _EXTERNAL_LINK.sub(r"\1", text)))
    text = _VARIANTS.sub(r"\1", _HIDDEN_VARIANTS.sub("", text))
    text = _MAGIC_WORD.sub("", _QUOTES.sub("", text))
    for line in html.unescape(text).splitlines():
        if not line.lstrip().startswith(_NO_PROSE) and (prose := _tidy(line)):
            yield prose


def _without_elements(text: str) -> str:
    """Remove elements that are not prose, the innermost first, because tables may be nested."""
    text = _EMPTY_ELEMENT.sub("", text)
    for _ in range(_MAX_DEPTH):
        text, count = _ELEMENT.subn("", text)
        if not count:
            break
    return text


def _without_brackets(text: str, namespaces: Collection[str], counts: Counter[str]) -> str:
    """Replace links by their words and remove templates and tables, which may be nested.

    Of an unbalanced bracket only the bracket is removed, so that one error does not remove the rest of an article.
    """
    parts: list[str] = []
    open_brackets: list[tuple[str, int]] = []
    open_counts: Counter[str] = Counter()
    end = 0
    for match in _BRACKETS.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        bracket = match.group().lstrip(" \t:")
        if bracket not in _CLOSES:
            open_brackets.append((bracket, len(parts)))
            open_counts[bracket] += 1
        elif open_counts[_CLOSES[bracket]]:
            kind, start = "", 0
            while kind != _CLOSES[bracket]:
                kind, start = open_brackets.pop()
                open_counts[kind] -= 1
            content = "".join(parts[start:])
            words = _words_of_link(content, namespaces) if kind == "[[" else ""
            words = _words_of_template(content) if kind == "{{" else words
            parts[start:] = [words]
            if kind == "{{" and not words and not open_brackets:
                counts[MISSED] += _is_inside_a_sentence(parts[start - 1], text[end : end + 1])
    return "".join([*parts, text[end:]])


def _is_inside_a_sentence(before: str, after: str) -> bool:
    return after not in ("", "\n") and _BEFORE_THE_NEXT_WORD.search(before[-2:]) is not None


def _words_of_link(content: str, namespaces: Collection[str]) -> str:
    """The visible words of a link `target|words`; empty for pictures, categories and links to other languages."""
    target, _, words = content.partition("|")
    prefix, colon, _ = target.partition(":")
    prefix = prefix.strip()
    if colon and prefix and (prefix.lower() in namespaces or _LANGUAGE_LINK.fullmatch(prefix)):
        return ""
    return words.rpartition("|")[2] or target.strip().lstrip(":")


def _words_of_template(content: str) -> str:
    name, *arguments = (part.strip() for part in content.split("|"))
    unnamed = [argument for argument in arguments if not re.match(r"[\w -]+=", argument)]
    name = name.lower().replace("_", " ")
    if name in ("convert", "cvt"):
        is_range = len(unnamed) > 3 and unnamed[1] in _RANGE_WORDS
        return " ".join(unnamed[: 4 if is_range else 2])
    if name.startswith(("lang-", "link-")) and unnamed:
        return unnamed[0]
    if name in _CENTURIES and unnamed and _ROMAN_NUMERAL.fullmatch(unnamed[0]):
        return _CENTURIES[name].format(unnamed[0])
    forms = _WORDS_OF_TEMPLATES.get(name, "").split("|")
    return next(filter(None, (form.format(*unnamed, "", "", "").strip() for form in forms)), "")


def _tidy(line: str) -> str:
    for pattern, replacement in _TIDYING.items():
        line = pattern.sub(replacement, line)
    return line.strip() if any(map(str.isalpha, line)) else ""
