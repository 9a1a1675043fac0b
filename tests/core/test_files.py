import errno
import json
import os
from pathlib import Path

import pytest

from litebert.errors import CheckpointError
from litebert.files import (
    free_space,
    read_json_object,
    readable_bytes,
    require_space,
    translate_os_errors,
    write_json,
    write_text,
)


def contents(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_write_text_leaves_no_other_file(tmp_path):
    write_text(tmp_path / "deep" / "a.txt", "one")
    write_json(tmp_path / "deep" / "a.txt", {"ä": 1})
    assert (tmp_path / "deep" / "a.txt").read_text(encoding="utf-8") == '{\n  "ä": 1\n}\n'
    assert contents(tmp_path / "deep") == {"a.txt"}


def test_json_object_round_trip(tmp_path):
    write_json(tmp_path / "a.json", {"ä": [1, None]})
    assert read_json_object(tmp_path / "a.json", if_missing="") == {"ä": [1, None]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "missing; say where"),
        ("{", r"not JSON \(Expecting .*\); take a fresh copy"),
        ("\udcff", r"not JSON \(.* invalid start byte\); take a fresh copy"),
        ("[1]", "holds list, expected a JSON object; take a fresh copy"),
    ],
)
def test_read_json_object_rejects_other_content(tmp_path, content, message):
    file = tmp_path / "a.json"
    if content is not None:
        file.write_text(content, errors="surrogateescape")
    with pytest.raises(CheckpointError, match=rf"a\.json: {message}"):
        read_json_object(file, if_missing="say where")


def test_read_json_object_below_a_file_is_missing(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(CheckpointError, match=r"b\.json: missing"):
        read_json_object(tmp_path / "a" / "b.json", if_missing="say where")


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write_text(tmp_path / "a.txt", "old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(CheckpointError, match="disk is full"):
        write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert contents(tmp_path) == {"a.txt"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EFBIG])
def test_os_errors_become_checkpoint_errors(number):
    with pytest.raises(CheckpointError, match=r"place: could not be written"), translate_os_errors(Path("place")):
        raise OSError(number, "x")


def test_other_os_errors_pass_unchanged():
    with pytest.raises(OSError, match="strange"), translate_os_errors(Path("place")):
        raise OSError(errno.ENOTTY, "strange")


def test_os_errors_in_messages_of_rust_libraries_are_recognised():
    with (
        pytest.raises(CheckpointError, match=r"place \(5 kB\): .*disk is full, .* free"),
        translate_os_errors(Path("place"), needed=5000),
    ):
        raise Exception("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(Exception, match="strange"), translate_os_errors(Path("place")):
        raise Exception("strange (os error)")


def test_require_space_rejects_a_full_disk(tmp_path):
    path = tmp_path / "not" / "yet"
    require_space(path, free_space(path) // 2)
    with pytest.raises(CheckpointError, match=r"yet: needs 9,.* GB, but the disk has .* free"):
        require_space(path, 9 * 10**18)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (12, "12 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (999_600, "1 MB"),
        (23_400_000, "23.4 MB"),
        (3e12, "3,000.0 GB"),
    ],
)
def test_readable_bytes(size, text):
    assert readable_bytes(size) == text


def test_json_of_a_file_name_that_is_not_utf_8_can_be_read_again(tmp_path):
    name = os.fsdecode(b"caf\xe9.txt")
    write_json(tmp_path / "a.json", {"file": name})
    assert json.loads((tmp_path / "a.json").read_text()) == {"file": name}
