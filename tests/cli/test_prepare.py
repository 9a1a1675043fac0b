"""`litebert prepare`: collections as text files."""

import json

import pytest

from litebert.cli.main import main

DUMP = "<mediawiki><siteinfo/><page><ns>0</ns><revision><text>'''A''' is [[b]].</text></revision></page></mediawiki>"
SQUAD = {"data": [{"paragraphs": [{"context": "A passage."}]}]}


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    (tmp_path / "dev.json").write_text(json.dumps(SQUAD))
    (tmp_path / "book.txt").write_text("Chapter 1\nA day.\nChapter 2\nA night.\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["wikipedia", "dump.xml"], "A is b.\n"),
        (["books", "book.txt", "--documents", "chapter"], "A day.\n\nA night.\n"),
        (["reading-comprehension", "--squad", "dev.json"], "A passage.\n"),
    ],
)
def test_prepare_writes_text(sources, capsys, monkeypatch, words, text):
    monkeypatch.chdir(sources)
    assert main(["prepare", *words, "--out", "out.txt"]) == 0
    assert capsys.readouterr().out.startswith("out.txt: ")
    assert (sources / "out.txt").read_text() == text
    assert main(["prepare", *words, "--out", "again.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == text.count("\n\n") + 1


def test_prepare_of_a_missing_file_is_a_data_error(sources, capsys):
    assert main(["prepare", "wikipedia", str(sources / "none.xml"), "--out", str(sources / "out.txt")]) == 3
    assert "no such file" in capsys.readouterr().err
