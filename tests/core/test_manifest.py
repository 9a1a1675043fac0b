"""Directories with a manifest are written completely or not at all, and damaged files are found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from litebert import manifest
from litebert.errors import CheckpointError, DataError
from litebert.files import write_bytes
from litebert.manifest import MANIFEST, atomic_directory, read_manifest, verify_manifest


def contents(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def make(directory: Path, **files: str) -> Path:
    with atomic_directory(directory) as temporary:
        for name, text in files.items():
            (temporary / name).write_text(text)
    return directory


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
    monkeypatch.setattr(manifest, "_exchange", lambda one, other: False)
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


@pytest.mark.parametrize("can_exchange", [True, False])
def test_existing_directory_is_replaced_with_and_without_the_exchange(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(manifest, "_exchange", lambda one, other: False)
    make(tmp_path / "d", a="old")
    make(tmp_path / "d", a="new")
    assert (tmp_path / "d" / "a").read_text() == "new"
    assert contents(tmp_path) == {"d"}


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is of Linux")
def test_directory_is_there_at_every_moment_of_its_replacement(tmp_path, monkeypatch):
    make(tmp_path / "d", a="old")
    monkeypatch.setattr(Path, "rename", None)
    make(tmp_path / "d", a="new")
    assert (tmp_path / "d" / "a").read_text() == "new"


def test_link_to_a_directory_stays_and_its_target_is_replaced(tmp_path):
    make(tmp_path / "models" / "first", a="old")
    (tmp_path / "current").symlink_to("models/first")
    make(tmp_path / "current", a="new")
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "models" / "first" / "a").read_text() == "new"
    assert (contents(tmp_path), contents(tmp_path / "models")) == ({"current", "models"}, {"first"})


@pytest.mark.parametrize("name", [".", "../d", "{absolute}"])
def test_current_directory_is_not_replaced(tmp_path, monkeypatch, name):
    (tmp_path / "d").mkdir()
    monkeypatch.chdir(tmp_path / "d")
    with pytest.raises(CheckpointError, match="/d: is or holds the current directory, which cannot be replaced; name"):
        make(Path(name.format(absolute=tmp_path / "d")), a="new")
    assert contents(tmp_path) == {"d"}


def test_what_killed_processes_left_is_removed_and_what_others_write_stays(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    running = os.getppid()
    for name in (f".d.{ended.pid}.tmp", f".d.{ended.pid}.old", f".d.{running}.tmp", f".d.x.{ended.pid}.tmp", ".d.mine"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    make(tmp_path / "d", a="new")
    assert contents(tmp_path) == {"d", f".d.{running}.tmp", f".d.x.{ended.pid}.tmp", ".d.mine"}
    (tmp_path / f".d.{ended.pid}.tmp").mkdir()
    make(tmp_path / "d", a="newer")
    assert f".d.{ended.pid}.tmp" in contents(tmp_path), "a process of another machine may write it"


def test_directory_that_holds_the_current_one_is_not_replaced(tmp_path, monkeypatch):
    make(tmp_path / "d", a="old")
    (tmp_path / "d" / "e").mkdir()
    monkeypatch.chdir(tmp_path / "d" / "e")
    with pytest.raises(CheckpointError, match="/d: is or holds the current directory"):
        make(tmp_path / "d", a="new")


def test_older_directory_of_a_killed_process_stays_while_there_is_no_newer_one(tmp_path):
    old = tmp_path / ".d.999999999.old"
    old.mkdir()

    def fail() -> None:
        with atomic_directory(tmp_path / "d"):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert old.is_dir()


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
