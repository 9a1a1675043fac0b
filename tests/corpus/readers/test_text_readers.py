import gzip
import logging
import sys
from collections import Counter
from itertools import groupby

import pytest

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.text_readers import TextReader, format_of
from litebert.errors import DataError, MissingExtraError


def read(path, content: bytes, **settings):
    path.write_bytes(content)
    counts: Counter[str] = Counter()
    file = TextReader(path, CorpusSettings(**settings), counts)
    lines = [line for _, line in file.lines()]
    file.problems.warn()
    return lines, +counts


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb", ["a", "b", None]),
        (b"a\r\nb\r\n", ["a", "b", None]),
        (b"a\rb\r\rc\r", ["a", "b", None, "c", None]),
        (b"\xef\xbb\xbfa\n", ["a", None]),
        (b"  a\t\n \n", ["a", None, None]),
        ("a\n\u200b\nb\r\n\ufeff \u200b\r\n\u200bc\n".encode(), ["a", None, "b", None, "\u200bc", None]),
        ("é😀\n".encode(), ["é😀", None]),
        (b"\n" * 1000, [None] * 1001),
        (b"a\x0cb\xe2\x80\xa8c", ["a\x0cb\u2028c", None]),
    ],
)
def test_text_reader_reads_line_by_line(tmp_path, content, lines):
    assert read(tmp_path / "a.txt", content) == (lines, {})


@pytest.mark.parametrize(
    ("content", "documents"),
    [
        (b"a b.\nc\n", ["a b.", "c"]),
        (b"a\r\n\n\n  \nb", ["a", "b"]),
        (b"a\rb\r\rc\r", ["a", "b", "c"]),
        (b"x" * 3_000_000 + b"\nb\n", ["x" * 3_000_000, "b"]),
    ],
    ids=["two lines", "blank lines between", "carriage returns", "a line that is cut"],
)
def test_text_reader_takes_every_line_as_a_document(tmp_path, content, documents):
    lines, _ = read(tmp_path / "a.txt", content, documents="line")
    parts = [list(part) for is_text, part in groupby(lines, key=bool) if is_text]
    assert ["".join(part) for part in parts] == documents


def test_text_reader_ignores_many_blank_lines(tmp_path):
    lines, counts = read(tmp_path / "a.txt.gz", gzip.compress(b"\n" * 300_000))
    assert not any(lines)
    assert counts == {}


@pytest.mark.parametrize("content", [b"a\0b", "text".encode("utf-16-le"), b"ok\n\x7fELF\0\0"])
def test_text_reader_refuses_binary_files(tmp_path, content):
    with pytest.raises(DataError, match=r"a.txt:\d: has NUL bytes"):
        read(tmp_path / "a.txt", content)


def test_text_reader_replaces_counts_and_logs_invalid_utf8(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        lines, counts = read(tmp_path / "a.txt", b"ok\ncaf\xe9\n\xff\n")
    assert lines == ["ok", "caf\ufffd", "\ufffd", None]
    assert counts == {"lines repaired": 2}
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith(
        f"{tmp_path}/a.txt:2: lines repaired (2 in this file); what cannot be decoded became U+FFFD"
    )


def test_text_reader_can_refuse_invalid_utf8(tmp_path):
    with pytest.raises(DataError, match=r"a.txt:2: byte 4 is not UTF-8"):
        read(tmp_path / "a.txt", b"ok\ncaf\xe9\n", invalid_utf8="error")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859_15", "gbk"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_text_reader_decodes_other_encodings(tmp_path, name, encoding):
    text = "\u4e2d\u6587" if encoding == "gbk" else "caf\xe9 f\xfcr"
    content = f'{{"text": "{text}"}}\n' if name == "a.jsonl" else f"{text}\n"
    assert read(tmp_path / name, content.encode(encoding), encoding=encoding) == ([text, None], {})


@pytest.mark.parametrize("start", ["天", "天天", "天天天"])
def test_text_reader_keeps_the_characters_of_long_lines_in_other_encodings(tmp_path, monkeypatch, start):
    monkeypatch.setattr("litebert.corpus.readers.decompression.MAX_PIECE_BYTES", 15)
    text = start + "…" * 20
    lines, counts = read(tmp_path / "a.txt", text.encode("gbk"), encoding="gbk")
    assert "".join(filter(None, lines)) == text
    assert "lines repaired" not in counts


def test_text_reader_names_the_encoding_that_lacks_a_byte(tmp_path):
    assert read(tmp_path / "a.txt", b"a\x81\n", encoding="cp1252") == (["a\ufffd", None], {"lines repaired": 1})
    with pytest.raises(DataError, match=r"a.txt:1: byte 2 is not CP1252"):
        read(tmp_path / "a.txt", b"a\x81\n", encoding="cp1252", invalid_utf8="error")


def test_json_lone_surrogate_is_replaced(tmp_path):
    assert read(tmp_path / "a.jsonl", b'{"text": "a\\ud800b"}') == (["a\ufffdb", None], {"lines repaired": 1})


def test_json_row_may_have_several_lines_and_escaped_nul(tmp_path):
    assert read(tmp_path / "a.jsonl", b'{"text": "a\\n b\\u0000 "}') == (["a", "b", None], {})


def test_json_row_with_empty_text_is_counted(tmp_path):
    assert read(tmp_path / "a.jsonl", b'{"text": " "}\n')[1] == {"empty documents": 1}


BAD_ROWS = [
    (b"{", "not JSON"),
    (b"[" * 100_000, "not JSON"),
    (b'{"text": "a", "n": ' + b"9" * 5000 + b"}", "not JSON"),
    (b"[1]", "found list"),
    (b"{}", "expected text under 'text', found NoneType"),
    (b'{"text": 3}', "found int"),
]


@pytest.mark.parametrize(("row", "problem"), BAD_ROWS)
def test_json_row_without_text_is_refused_with_its_line(tmp_path, row, problem):
    with pytest.raises(DataError, match=r"a.jsonl:2: .*" + problem):
        read(tmp_path / "a.jsonl", b'{"text": "a"}\n' + row)


def test_invalid_rows_can_be_skipped_counted_and_logged(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        lines, counts = read(tmp_path / "a.jsonl", b'{"text": "a"}\n{\n{}\n', invalid_rows="skip")
    assert lines == ["a", None]
    assert counts == {"rows skipped": 2}
    assert "a.jsonl:2: rows skipped (2 in this file)" in caplog.text


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pyarrow"):
        read(tmp_path / "a.parquet", b"")


def test_parquet_rows_become_documents(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["a\nb", "c"], "n": [1, 2]}), tmp_path / "a.parquet")
    file = TextReader(tmp_path / "a.parquet", CorpusSettings(), Counter())
    assert [line for _, line in file.lines()] == ["a", "b", None, "c", None]
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read(tmp_path / "b.parquet", b"no parquet file")


def test_format_of_uses_the_longest_known_ending(tmp_path):
    assert format_of(tmp_path / "x.jsonl.gz") == ".jsonl.gz"
    with pytest.raises(DataError, match="unknown file format"):
        format_of(tmp_path / "x.gz")


def test_row_of_nul_characters_is_an_empty_document(tmp_path):
    content = b'{"text": "\\u0000 \\u0000"}\n{"text": "a"}\n'
    assert read(tmp_path / "a.jsonl", content)[1] == {"empty documents": 1}


def test_byte_order_mark_of_utf_8_contradicts_another_encoding(tmp_path):
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbf\xc3\x9cber")
    for encoding in ("utf-8", "UTF8", "utf-8-sig", "UTF_8_SIG"):
        reader = TextReader(tmp_path / "text.txt", CorpusSettings(encoding=encoding), Counter())
        assert [text for _, text in reader.lines() if text] == ["Über"]
    with pytest.raises(DataError, match=r"begins with a byte order mark of UTF-8, and encoding is cp1252; read such"):
        list(TextReader(tmp_path / "text.txt", CorpusSettings(encoding="cp1252"), Counter()).lines())
