"""Directories with a manifest: written completely or not at all, and checked when they are read.

The manifest has the SHA-256 of each file, so that a reader detects a single flipped bit.
"""

import contextlib
import ctypes
import glob
import os
import shutil
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from litebert.errors import CheckpointError, LitebertError
from litebert.files import README, fsync, sha256, translate_os_errors, write_text

MANIFEST = "SHA256SUMS"


@contextlib.contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """A temporary directory that is renamed to `path` if the block succeeds and removed if it fails.

    An existing `path` is replaced, that of a symbolic link too: the link stays. The manifest is written last, just
    before the rename. What killed processes have left beside `path` is removed. Raises CheckpointError for the current
    directory, which would be deleted.
    """
    path = path.resolve()
    if path.is_dir() and _current_directory().is_relative_to(path):
        raise CheckpointError(
            f"{path}: is or holds the current directory, which cannot be replaced; name a directory in it"
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with translate_os_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            yield temporary
            write_manifest(temporary)
            if not (path.is_dir() and _exchange(temporary, path)):
                _rename(temporary, path)
            fsync(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            if path.exists():  # otherwise an older one beside it may be the only copy
                _remove_leftovers(path)


def _current_directory() -> Path:
    """Where the process works; the root of the file system where its directory was deleted."""
    with contextlib.suppress(FileNotFoundError):
        return Path.cwd()
    return Path("/")


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two directories at once, so that there is no moment without `other`; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    return rename is not None and not rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE)


_HERE, _RENAME_EXCHANGE = -100, 2
"""AT_FDCWD, for paths that are not relative to an open directory, and the flag, in the headers of Linux."""


def _rename(temporary: Path, path: Path) -> None:
    """Rename to `path`, and an older directory there out of the way first; it is put back if that fails."""
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    try:
        if path.exists():
            path.rename(old)
        temporary.rename(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.rename(path)
        raise


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary and older directories of this process, and of processes that no longer run."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        number, _, suffix = leftover.name.removeprefix(f".{path.name}.").partition(".")
        if number.isdigit() and suffix in ("tmp", "old") and leftover.is_dir():
            is_own = int(number) == os.getpid()
            if is_own or not (_is_recent(leftover) or _is_running(int(number))):
                shutil.rmtree(leftover, ignore_errors=True)


def _is_recent(path: Path) -> bool:
    """Whether it changed within the last hour: a process of another machine with this disk may still write it."""
    try:
        return time.time() - path.stat().st_mtime < _SECONDS_OF_A_WRITE
    except FileNotFoundError:
        return True


_SECONDS_OF_A_WRITE = 3600


def _is_running(number: int) -> bool:
    """Whether a process of this machine has the id."""
    if sys.platform == "win32":
        return True  # os.kill sends Ctrl-C there
    try:
        os.kill(number, 0)  # no signal, only the check
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def write_manifest(directory: Path) -> None:
    """Write `SHA256SUMS` over the other files below `directory` but README.md, in the format of `sha256sum`."""
    files = _checked_files(directory)
    for file in files:
        fsync(file)
    lines = (f"{sha256(file)}  {file.relative_to(directory).as_posix()}\n" for file in files)
    write_text(directory / MANIFEST, "".join(lines))


def _checked_files(directory: Path) -> list[Path]:
    """The files below `directory` that have a checksum, sorted."""
    files = (path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST)
    return sorted(path for path in files if path != directory / README)


def read_manifest(directory: Path) -> dict[str, str]:
    """Relative path → SHA-256, from the manifest of `directory`."""
    path = directory / MANIFEST
    try:
        *lines, after_last_line = path.read_text(encoding="utf-8").split("\n")
        pairs = [line.split("  ", 1) for line in lines]
        sums = {name: digest for digest, name in pairs}
        if pairs and not after_last_line and len(sums) == len(pairs) and all(len(each) == 64 for each in sums.values()):
            return sums
    except ValueError:  # not UTF-8, or a line without two spaces
        pass
    raise CheckpointError(f"{path}: damaged: expected lines of 'SHA-256  file'; take a fresh copy")


def update_manifest(directory: Path, names: Collection[str]) -> None:
    """Set the sums of these files in the manifest of `directory`, and keep those of its other files."""
    sums = read_manifest(directory) if (directory / MANIFEST).is_file() else {}
    sums |= {name: sha256(directory / name) for name in names}
    write_text(directory / MANIFEST, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))


def verify_manifest(
    directory: Path, *, only: Collection[str] | None = None, error: type[LitebertError] = CheckpointError
) -> None:
    """Raise `error`, naming the file, unless every file of the manifest but README.md exists and has its SHA-256.

    With `only`, these files are checked and no others; each that exists must be in the manifest.
    """
    try:
        manifest = read_manifest(directory)
    except CheckpointError as problem:
        raise error(str(problem)) from None
    for name in only or ():
        if name not in manifest and (directory / name).is_file():
            raise error(f"{directory / MANIFEST}: damaged: does not list {name}; take a fresh copy")
    checked = [name for name in manifest if name != README and (only is None or name in only)]
    for name, expected in ((name, manifest[name]) for name in checked):
        path = directory / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise error(f"{directory / MANIFEST}: names {name!r}, which lies outside the directory; take a fresh copy")
        if not path.is_file():
            raise error(f"{path}: missing, but {MANIFEST} lists it; take a fresh copy")
        try:
            found = sha256(path)
        except OSError as problem:
            raise error(f"{path}: cannot be read ({problem.strerror}); check its permissions") from None
        if found != expected:
            raise error(
                f"{path}: damaged: SHA-256 is {found[:12]}…, {MANIFEST} says {expected[:12]}…; take a fresh copy"
            )


def content_digests(directory: Path) -> dict[str, str]:
    """Relative path → SHA-256 of every file below `directory` but README.md, from its manifest if it has one.

    Without a manifest, hidden files do not count: file managers and version control write them.
    """
    if (directory / MANIFEST).is_file():
        return {name: digest for name, digest in read_manifest(directory).items() if name != README}
    names = {path.relative_to(directory): path for path in _checked_files(directory)}
    visible = {name: path for name, path in names.items() if not any(part.startswith(".") for part in name.parts)}
    return {name.as_posix(): sha256(path) for name, path in visible.items()}
