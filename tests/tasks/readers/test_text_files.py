"""Text files, plain and compressed."""

import gzip
from pathlib import Path

import pytest

from litebert.errors import DataError
from litebert.tasks.readers.text_files import format_ending, iter_lines, plain_name, read_text


def write(directory, name, content):
    path = directory / name
    path.write_bytes(gzip.compress(content) if name.endswith((".gz", ".GZ")) else content)
    return path


@pytest.mark.parametrize(
    ("name", "ending", "plain"),
    [
        ("a/rows.csv", ".csv", "rows.csv"),
        ("rows.CSV", ".csv", "rows.CSV"),
        ("rows.csv.gz", ".csv", "rows.csv"),
        ("v1.2.Tsv.GZ", ".tsv", "v1.2.Tsv"),
        ("rows", "", "rows"),
        ("rows.gz", "", "rows"),
    ],
)
def test_format_ending_ignores_case_and_compression(name, ending, plain):
    assert (format_ending(Path(name)), plain_name(Path(name))) == (ending, Path(plain))


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_iter_lines_splits_at_line_feeds_only(tmp_path, name):
    path = write(tmp_path, name, "a\u2028b\x85c\r\n\nd\n\n".encode())
    assert list(iter_lines(path)) == ["a\u2028b\x85c", "", "d"]


@pytest.mark.parametrize("name", ["x.json", "x.json.GZ"])
def test_read_text_has_the_line_ends_of_the_file_and_no_byte_order_mark(tmp_path, name):
    assert read_text(write(tmp_path, name, b"\xef\xbb\xbfa\r\nb\n")) == "a\r\nb\n"


def test_compressed_text_that_is_not_utf_8_is_an_error_with_its_line(tmp_path):
    with pytest.raises(DataError, match=r"x\.csv\.gz:3: not UTF-8 \(byte 0xe9\)"):
        read_text(write(tmp_path, "x.csv.gz", b"a\nb\ncaf\xe9\n"))


@pytest.mark.parametrize(
    "content",
    [b"text\n", gzip.compress(b"text\n" * 9, mtime=0)[:-9], b"\x1f\x8b\x08" + b"\0" * 40],
    ids=["plain text", "truncated", "damaged"],
)
def test_damaged_compressed_file_is_an_error(tmp_path, content):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"x\.csv\.gz: damaged or truncated compressed file"):
        iter_lines(path)
