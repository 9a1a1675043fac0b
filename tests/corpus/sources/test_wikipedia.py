"""Dumps and the output of WikiExtractor to documents."""

import bz2
import gzip
import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from litebert.corpus.sources import wikipedia
from litebert.corpus.sources.wikipedia import write_wikipedia
from litebert.errors import DataError

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
<siteinfo><sitename>Wikipedia</sitename><namespaces>
<namespace key="-1" case="first-letter">Spezial</namespace><namespace key="0" case="first-letter" />
<namespace key="6" case="first-letter">Datei</namespace><namespace key="14" case="first-letter">Kategorie</namespace>
</namespaces></siteinfo>
"""


def page(title: str, text: str, *, namespace: int = 0, redirect: bool = False) -> str:
    element = '<redirect title="A" />' if redirect else ""
    revision = f"<revision><id>1</id><text bytes='9' xml:space='preserve'>{escape(text)}</text></revision>"
    return f"<page><title>{title}</title><ns>{namespace}</ns><id>1</id>{element}{revision}</page>\n"


PAGES = (
    page("Turku", "'''Turku''' ist eine [[Stadt]].[[Datei:T.jpg|mini|Ein Bild]]\n\n[[Kategorie:Ort]]\nZweiter Absatz."),
    page("Åbo", "#WEITERLEITUNG [[Turku]]", redirect=True),
    page("Abo", "#redirect [[Turku]]"),
    page("Turku (Begriff)", "Turku ist\n* eine Stadt\n{{Begriffsklärung}}"),
    page("Mercury", "'''Mercury''' may be:\n{{Element disambiguation}}"),
    page("Diskussion:Turku", "Eine Frage.", namespace=1),
    page("Liste", "* a\n* b"),
    page("東京", "'''東京'''は[[日本]]の{{lang|ja|首都}}である。<ref>{{Cite web|title=X}}</ref>"),
)
ARTICLES = "Turku ist eine Stadt.\nZweiter Absatz.\n\n東京は日本の首都である。\n"
COUNTS = {
    "articles": 2,
    "articles without prose": 1,
    "disambiguation pages": 2,
    "pages": 8,
    "pages outside the article namespace": 1,
    "redirects": 2,
}


def plain(content: bytes) -> bytes:
    return content


def multistream(content: bytes) -> bytes:
    """As the multistream dumps are: the head, some pages at a time, and the end each compressed by itself."""
    cuts = [content.index(b"<page>"), content.index(b"<page>", len(content) // 2), len(content)]
    return b"".join(bz2.compress(content[start:end]) for start, end in zip([0, *cuts], cuts))


def write_dump(path: Path, compress=plain, *, pages=PAGES) -> Path:
    path.write_bytes(compress((HEAD + "".join(pages) + "</mediawiki>").encode()))
    return path


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("d.xml", plain),
        ("d.xml.bz2", bz2.compress),
        ("d-multistream.xml.bz2", multistream),
        ("d.xml.gz", gzip.compress),
        ("d-articles1.xml-p1p41242.bz2", bz2.compress),
    ],
)
def test_wikipedia_dump_becomes_its_articles(tmp_path, name, compress):
    report = write_wikipedia([write_dump(tmp_path / name, compress)], tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == ARTICLES
    assert report.counts == COUNTS
    assert (report.documents, report.paragraphs) == (2, 3)
    assert "redirects: 2" in report.to_text()


HATNOTES = (
    *("Nota disambigua|altri significati|Roma (disambigua)", "Ver desambig", "Ver desambiguação|o rio"),
    *("Voir homonymie|X", "Zie ook doorverwijspagina|x", "for disambiguation|X", " See disambiguation|X"),
)
PAGE_TEMPLATES = (
    *("Human name disambiguation", "Geodis", "Hndis|Smith", "Place name dab", "disambigua", "Disambig"),
    *("Desambiguação", "Doorverwijspagina", "Homonymie"),
)


@pytest.mark.parametrize("template", HATNOTES)
def test_articles_with_a_note_about_other_meanings_are_kept(tmp_path, template):
    dump = write_dump(tmp_path / "d.xml", pages=[page("Roma", f"{{{{{template}}}}}\nRoma is a city.")])
    assert write_wikipedia([dump], tmp_path / "out.txt").counts == {"articles": 1, "pages": 1}


@pytest.mark.parametrize("template", PAGE_TEMPLATES)
def test_disambiguation_pages_are_left_out(tmp_path, template):
    pages = [page("Roma", f"Roma is a city.\n{{{{{template}}}}}"), page("Turku", "Turku is a city.")]
    report = write_wikipedia([write_dump(tmp_path / "d.xml", pages=pages)], tmp_path / "out.txt")
    assert report.counts == {"articles": 1, "disambiguation pages": 1, "pages": 2}


@pytest.mark.parametrize("prefix", ["Datei", "Bild", "File", "画像"])
def test_pictures_are_left_out_under_each_name_of_their_namespace(tmp_path, prefix):
    pages = [page("Tor", f"[[{prefix}:foo.jpg|mini|Das Tor]]\nDas Tor steht.")]
    write_wikipedia([write_dump(tmp_path / "d.xml", pages=pages)], tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "Das Tor steht.\n"


def test_templates_removed_inside_a_sentence_are_counted(tmp_path):
    text = "{{Infobox}}\nIt is {{unknown|5}} big.{{sfn|A}} [[Turku]] {{x|{{y}}}} is it. {{Coord|1}}\n{{Navbox}} a"
    report = write_wikipedia([write_dump(tmp_path / "d.xml", pages=[page("A", text)])], tmp_path / "out.txt")
    assert report.counts["templates removed inside a sentence"] == 2


def test_wikipedia_reads_several_dumps(tmp_path):
    dumps = [write_dump(tmp_path / name) for name in ("a.xml", "b.xml")]
    assert write_wikipedia(dumps, tmp_path / "out.txt").documents == 4


def test_wikipedia_pages_are_freed_after_reading(tmp_path):
    path = write_dump(tmp_path / "d.xml", pages=PAGES * 50)
    with path.open("rb") as file:
        held = []
        for element in wikipedia._elements(path, file):
            held.append(len(list(element.iter())))
    assert max(held) < 10


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[: len(content) // 2], "truncated"),
        (lambda content: b"no archive", "after 0 pages: could not be read"),
    ],
)
def test_wikipedia_damaged_archive_is_refused_and_leaves_no_file(tmp_path, damage, message):
    path = write_dump(tmp_path / "d.xml.bz2", bz2.compress, pages=PAGES * 20)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=rf"d\.xml\.bz2.*{message}"):
        write_wikipedia([path], tmp_path / "out.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["d.xml.bz2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [("<mediawiki>\n<page>\n</pag></mediawiki>", r"d\.xml:3: not XML"), ("", "no element found"),
     ("<html></html>", r"d\.xml:1: not a dump: expected the element mediawiki, found html")],
)  # fmt: skip
def test_wikipedia_invalid_dump_is_refused_with_its_line(tmp_path, content, message):
    (tmp_path / "d.xml").write_text(content)
    with pytest.raises(DataError, match=message):
        write_wikipedia([tmp_path / "d.xml"], tmp_path / "out.txt")


def write_extracted(path: Path, *rows) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_wikipedia_reads_wikiextractor_output(tmp_path):
    rows = (
        {"title": "A", "text": "A\n\nOne &amp; two.\nThree."},
        {"title": "B", "text": ""},
        {"title": "C", "text": "Four."},
    )
    write_extracted(tmp_path / "AA" / "wiki_00", *rows[:2])
    write_extracted(tmp_path / "AA" / "wiki_01", rows[2])
    report = write_wikipedia([tmp_path / "AA"], tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "One & two.\nThree.\n\nFour.\n"
    assert report.counts == {"articles": 2, "articles without prose": 1, "pages": 3}


@pytest.mark.parametrize(
    "row",
    [
        '<doc id="1">',
        "{}",
        '["a"]',
        {"title": 1984, "text": "One."},
        {"title": "B", "text": None},
        {"title": "B", "text": ["x"]},
    ],
)
def test_wikipedia_file_of_another_format_is_refused_with_its_line(tmp_path, row):
    path = write_extracted(tmp_path / "AA" / "wiki_00", {"title": "A", "text": "One."}, row)
    with pytest.raises(DataError, match="wiki_00:2: expected a JSON object"):
        write_wikipedia([path], tmp_path / "out.txt")


def test_wikipedia_damaged_extract_is_refused(tmp_path):
    (tmp_path / "wiki_00.bz2").write_bytes(bz2.compress(b"{}" * 999)[:20])
    with pytest.raises(DataError, match=r"wiki_00\.bz2: damaged or truncated"):
        write_wikipedia([tmp_path / "wiki_00.bz2"], tmp_path / "out.txt")


def test_wikipedia_missing_dump_is_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        write_wikipedia([tmp_path / "none.xml"], tmp_path / "out.txt")
