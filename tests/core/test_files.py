import errno
import json
import os
from pathlib import Path

import pytest

from litebert.errors import CheckpointError, DataError
from litebert.files import (
    MANIFEST,
    atomic_directory,
    free_space,
    read_json_object,
    read_manifest,
    readable_bytes,
    require_space,
    translate_os_errors,
    verify_manifest,
    write_bytes,
    write_json,
    write_text,
)


def contents(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def make(directory: Path, **files: str) -> Path:
    with atomic_directory(directory) as temporary:
        for name, text in files.items():
            (temporary / name).write_text(text)
    return directory


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


def test_atomic_directory_appears_completely_with_its_manifest(tmp_path):
    directory = make(tmp_path / "d", a="1", b="2")
    assert contents(directory) == {"a", "b", MANIFEST}
    assert set(read_manifest(directory)) == {"a", "b"}
    verify_manifest(directory)


def test_directory_files_are_durable_before_the_manifest_and_the_rename(tmp_path, monkeypatch):
    """A power loss after the rename leaves no directory whose files are not on disk."""
    synced, real = [], os.fsync

    def fsync(descriptor):
        synced.append(os.fstat(descriptor).st_ino)
        real(descriptor)

    monkeypatch.setattr("os.fsync", fsync)
    with atomic_directory(tmp_path / "made") as directory:
        (directory / "inner").mkdir()
        (directory / "a").write_text("a")
        (directory / "inner" / "b").write_text("b")
        assert synced == []
    made = tmp_path / "made"
    files, manifest = ({(made / name).stat().st_ino for name in names} for names in (("a", "inner/b"), (MANIFEST,)))
    assert set(synced[:2]) == files
    assert synced[2] in manifest
    assert synced[-1] == tmp_path.stat().st_ino


def test_failed_atomic_directory_leaves_the_old_one(tmp_path):
    make(tmp_path / "d", a="old")

    def fail() -> None:
        with atomic_directory(tmp_path / "d") as temporary:
            (temporary / "a").write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (tmp_path / "d" / "a").read_text() == "old"
    assert contents(tmp_path) == {"d"}


@pytest.mark.parametrize("failing", [0, 1], ids=["old away", "new in place"])
def test_interrupted_rename_leaves_the_old_directory(tmp_path, monkeypatch, failing):
    make(tmp_path / "d", a="old")
    rename, renamed = Path.rename, []

    def interrupted(self, target):
        renamed.append(self)
        if len(renamed) == failing + 1:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "d", a="new")
    assert (tmp_path / "d" / "a").read_text() == "old"
    assert contents(tmp_path) == {"d"}


def test_atomic_directory_replaces_the_old_one(tmp_path):
    make(tmp_path / "d", a="old")
    make(tmp_path / "d", b="new")
    assert contents(tmp_path / "d") == {"b", MANIFEST}
    assert contents(tmp_path) == {"d"}


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
@pytest.mark.parametrize("error", [CheckpointError, DataError])
def test_verify_manifest_names_the_damaged_file(tmp_path, damage, error):
    directory = make(tmp_path / "d", weights="abc")
    if damage == "delete":
        (directory / "weights").unlink()
    else:
        (directory / "weights").write_text("abb" if damage == "flip" else "ab")
    with pytest.raises(error, match="weights"):
        verify_manifest(directory, error=error)


@pytest.mark.parametrize(
    "manifest",
    [b"", b"nonsense\n", b"\xff\xff", b"0" * 64 + b"  ../outside\n", b"0" * 64 + b"  a", 2 * (b"0" * 64 + b"  a\n")],
    ids=["empty", "nonsense", "not UTF-8", "outside", "line cut", "name twice"],
)
def test_damaged_manifest_is_rejected(tmp_path, manifest):
    write_bytes(tmp_path / MANIFEST, manifest)
    (tmp_path / "a").write_text("a")
    with pytest.raises(CheckpointError, match=rf"{MANIFEST}: (damaged|names)"):
        verify_manifest(tmp_path)


def test_verify_manifest_of_some_files_refuses_one_that_is_not_listed(tmp_path):
    directory = make(tmp_path / "d", weights="abc")
    (directory / "other").write_text("x")
    verify_manifest(directory, only=["weights", "absent"])
    with pytest.raises(CheckpointError, match=f"{MANIFEST}: damaged: does not list other"):
        verify_manifest(directory, only=["weights", "other"])


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
