import gzip
import io
import sys
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from litebert.corpus.readers import decompression as opening
from litebert.corpus.readers.decompression import ZSTD, ByteCounter, raw_lines
from litebert.errors import DataError, MissingExtraError

zstd = pytest.importorskip(ZSTD)

CONTENT = "".join(f"{number * 7919}\n" for number in range(999)).encode() + b"no line end"
COMPRESS = {".txt": lambda content: content, ".gz": gzip.compress, ".zst": zstd.compress}


def read(path, content):
    path.write_bytes(content)
    return [line for _, line in raw_lines(path, ByteCounter())]


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("content", [b"", b"\n", b"a\r\nb\n", b"a\rb\x0cc\x85d", CONTENT])
def test_text_reader_ends_lines_only_at_line_feeds(tmp_path, ending, content):
    lines = read(tmp_path / f"a{ending}", COMPRESS[ending](content))
    assert b"".join(lines) == content
    assert [line.count(b"\n") for line in lines[:-1]] == [1] * (len(lines) - 1)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_raw_lines_reads_concatenated_compressed_parts(tmp_path, ending):
    parts = COMPRESS[ending](b"a\nb") + COMPRESS[ending](b"c\nd\n")
    assert read(tmp_path / f"a{ending}", parts) == [b"a\n", b"bc\n", b"d\n"]


DAMAGE = {
    "cut off": lambda content: content[:-12],
    "changed": lambda content: content[:30] + b"xxxxxxxx" + content[38:],
    "something else": lambda content: b"no compressed file",
}


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_raw_lines_refuses_damaged_compressed_files(tmp_path, ending, damage):
    with pytest.raises(DataError, match=r"a\.\w+:\d+: damaged or truncated compressed file"):
        read(tmp_path / f"a{ending}", DAMAGE[damage](COMPRESS[ending](CONTENT)))


def test_raw_lines_refuses_a_directory(tmp_path):
    with pytest.raises(DataError, match="could not be read: Is a directory"):
        list(raw_lines(tmp_path, ByteCounter()))


def test_zst_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, opening.ZSTD, None)
    with pytest.raises(MissingExtraError, match="zstd"):
        read(tmp_path / "a.zst", b"")


@pytest.mark.parametrize("ending", COMPRESS)
def test_raw_lines_cuts_long_lines_at_spaces_or_between_characters(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(opening, "MAX_PIECE_BYTES", 8)
    path = tmp_path / f"a{ending}"
    path.write_bytes(COMPRESS[ending]("ab cd ef gh\nééééééé\nx".encode()))
    pieces = [(number, piece.decode()) for number, piece in raw_lines(path, ByteCounter())]
    assert pieces == [(1, "ab cd "), (1, "ef gh\n"), (2, "ééé"), (2, "éééé\n"), (3, "x")]


@pytest.mark.parametrize("encoding", ["utf-8", "gbk", "gb18030", "big5", "shift_jis", "euc_jp", "cp1252"])
@given(letters=st.text("天…a‰é", min_size=1, max_size=40), longest=st.integers(4, 9))
def test_raw_lines_cuts_between_characters_of_the_encoding(encoding, letters, longest):
    content = letters.encode(encoding, "ignore")
    with tempfile.TemporaryDirectory() as directory, mock.patch.object(opening, "MAX_PIECE_BYTES", longest):
        (path := Path(directory) / "a.txt").write_bytes(content)
        pieces = [piece for _, piece in raw_lines(path, ByteCounter(), encoding=encoding)]
    assert "".join(piece.decode(encoding) for piece in pieces) == content.decode(encoding)


@given(st.binary(max_size=200), st.integers(4, 30))
@example(b"\0\x80\x80\x80", 4)
def test_raw_lines_pieces_add_up_to_the_file(content, longest):
    with tempfile.TemporaryDirectory() as directory, mock.patch.object(opening, "MAX_PIECE_BYTES", longest):
        (path := Path(directory) / "a.txt").write_bytes(content)
        pieces = list(raw_lines(path, ByteCounter()))
    assert b"".join(piece for _, piece in pieces) == content
    assert all(0 < len(piece) < 2 * longest + 4 for _, piece in pieces)
    joined = {}
    for number, piece in pieces:
        joined[number] = joined.get(number, b"") + piece
    assert list(joined.values()) == list(io.BytesIO(content))


def test_byte_counter_counts_bytes_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"line\n" * 10_000)
    meter = ByteCounter(total=50_000)
    lines = raw_lines(path, meter)
    next(lines)
    assert 0 < meter.read < 50_000
    assert len(list(lines)) == 9_999
    meter.finish(50_000)
    assert meter.read == 50_000
