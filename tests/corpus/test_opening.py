import gzip
import sys

import pytest
import zstandard

from litebert.corpus import opening
from litebert.corpus.opening import raw_lines
from litebert.errors import DataError, MissingExtraError

CONTENT = "".join(f"{number * 7919}\n" for number in range(999)).encode() + b"no line end"
COMPRESS = {".txt": lambda content: content, ".gz": gzip.compress, ".zst": zstandard.compress}


def read(path, content):
    path.write_bytes(content)
    return list(raw_lines(path))


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("content", [b"", b"\n", b"a\r\nb\n", b"a\rb\x0cc\x85d", CONTENT])
def test_lines_end_only_at_line_feeds(tmp_path, ending, content):
    lines = read(tmp_path / f"a{ending}", COMPRESS[ending](content))
    assert b"".join(lines) == content
    assert [line.count(b"\n") for line in lines[:-1]] == [1] * (len(lines) - 1)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("chunk_bytes", [7, 2**20])
def test_several_compressed_parts_in_one_file_are_one_text(tmp_path, monkeypatch, ending, chunk_bytes):
    monkeypatch.setattr(opening, "CHUNK_BYTES", chunk_bytes)
    parts = COMPRESS[ending](b"a\nb") + COMPRESS[ending](b"c\nd\n")
    assert read(tmp_path / f"a{ending}", parts) == [b"a\n", b"bc\n", b"d\n"]


DAMAGE = {
    "cut off": lambda content: content[:-12],
    "changed": lambda content: content[:30] + b"xxxxxxxx" + content[38:],
    "something else": lambda content: b"no compressed file",
}


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_compressed_files_are_refused(tmp_path, ending, damage):
    with pytest.raises(DataError, match="damaged or cut-off compressed file"):
        read(tmp_path / f"a{ending}", DAMAGE[damage](COMPRESS[ending](CONTENT)))


def test_what_is_no_file_is_an_error_in_words(tmp_path):
    with pytest.raises(DataError, match="could not be read: Is a directory"):
        list(raw_lines(tmp_path))


def test_zst_needs_a_package_and_says_which(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match="zstandard"):
        list(raw_lines(tmp_path / "a.zst"))
