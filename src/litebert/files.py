"""Atomic file writing, the paths that users give, and the names of the files of each artefact.

A file is written under a temporary name in the same folder, flushed to disk (fsync), and renamed, so that it is there
completely or not at all.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from litebert.errors import CheckpointError, ConfigError, LitebertError

RUN_SETTINGS = "settings.yaml"
"""The resolved settings of a run, in its directory."""
TRAINER_STATE = "trainer_state.json"
"""Step and progress, in a checkpoint."""
_CHECKPOINT = re.compile(r"step-(\d{8,})")
README = "README.md"
"""The page of a directory, which people edit: it has no checksum, and one in an older manifest is not compared."""
TASK = "task.json"
"""What a model was fine-tuned on, in a model directory."""
EVALUATION = "evaluation.json"
"""The evaluation of a model that a run has saved, in a model directory."""
INPUT_SETTINGS = "input_settings.json"
"""How a fine-tuned model reads its inputs, in a model directory."""
QUESTION_SETTINGS = "question_answering.json"
"""The same for question answering."""
PRETRAINING_SETTINGS = "pretraining_settings.json"
"""How the examples of pretraining were drawn, in the model directory of a pretrained model."""


def expand_home(value: Any) -> Any:
    """`value` with the home directory in place of `~` where it is, or contains, a path that begins with `~/`.

    Shells leave `--out=~/run` as it is, and Python leaves every path.
    """
    if isinstance(value, str | Path):
        return type(value)(os.path.expanduser(value)) if str(value).startswith("~/") else value  # noqa: PTH111
    if isinstance(value, list | tuple):
        each = map(expand_home, value)
        return list(each) if isinstance(value, list) else tuple(each)
    if isinstance(value, dict):
        return {expand_home(key): expand_home(each) for key, each in value.items()}
    return value


def path_of(path: str | os.PathLike[str]) -> Path:
    """The path that a user gave, with the home directory in place of `~`; ConfigError for something else."""
    return Path(expand_home(path_text(path)))


def path_text(path: str | os.PathLike[str]) -> str:
    """A path, or a name on the hub, as text; ConfigError for something else, such as a loaded model."""
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"expected a path, found a {type(path).__name__}; give the directory that it is in")
    return os.fspath(path)


def model_name(source: str) -> str:
    """The name of a run or model directory, or of a model on the hub without its owner.

    A link has its own name, so that it stays when the link is changed; a directory `model` has that of its run.
    """
    path = Path(os.path.normpath(Path(source).absolute()))  # not resolved: that would follow links
    return path.parent.name or path.name if path.name == "model" else path.name


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8), atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as indented JSON, atomically."""
    write_bytes(path, json_bytes(value))


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON does not have, such as NaN in a column of Parquet."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: finite(each) for name, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list | tuple) else value


def json_bytes(value: Any) -> bytes:
    """A value as the content of a file of indented JSON."""
    try:
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        return (json.dumps(value, indent=2) + "\n").encode()


def read_json_object(path: Path, *, if_missing: str) -> dict[str, Any]:
    """The JSON object in a file; raises CheckpointError if there is none; `if_missing` is advice for a missing file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(f"{path}: missing; {if_missing}") from None
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON ({error}); take a fresh copy") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: holds {type(value).__name__}, expected a JSON object; take a fresh copy")
    return value


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, atomically."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def atomic_file(path: Path, *, one_writer: bool = False) -> Iterator[Path]:
    """A temporary file to write in the block: it replaces `path` if the block succeeds, and is removed if it fails.

    With `one_writer`, for large files, what a killed process has left is written over.
    """
    temporary = path.with_name(f".{path.name}.tmp" if one_writer else f".{path.name}.{os.getpid()}.tmp")
    with translate_os_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            fsync(temporary)
            temporary.replace(path)
            fsync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(file: Path, *, busy: LitebertError, timeout: float = 0) -> Iterator[None]:
    """Hold a lock until the block ends; raise `busy` if another process still holds it after `timeout` seconds.

    The operating system releases the lock of a process that ends, even after `kill -9`.
    """
    from filelock import FileLock, Timeout  # not needed by the runtime, which imports this module

    lock = FileLock(file)
    with translate_os_errors(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            raise busy from None
    try:
        yield
    finally:
        lock.release()


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """A name for each path: as many of its last parts as tell all of them apart, all of them for equal paths."""
    parts = [path.absolute().parts for path in paths]
    names: list[str] = []
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return names


def unfinished_writes(path: Path) -> set[Path]:
    """What processes that were killed while they wrote `path` have left beside it."""
    return set(path.parent.glob(f".{path.name}.*.tmp"))


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fsync(path: Path) -> None:
    """Make the content of a file, or renames inside a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_writable(path: Path) -> None:
    """Raise a CheckpointError unless `path` could be created, before the work for it is done; its parent is created."""
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent):
            pass


def require_space(path: Path, needed: int) -> None:
    """Raise a CheckpointError unless the disk of `path`, which need not exist yet, has `needed` bytes free."""
    if (free := free_space(path)) < needed:
        raise CheckpointError(
            f"{path}: needs {readable_bytes(needed)}, but the disk has {readable_bytes(free)} free; "
            f"free some space or write elsewhere"
        )


def free_space(path: Path) -> int:
    """Free bytes on the disk of `path`, which need not exist yet."""
    return shutil.disk_usage(next(parent for parent in (path, *path.absolute().parents) if parent.exists())).free


def readable_bytes(size: float) -> str:
    """A size for people, such as `12.3 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if abs(size) < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


@contextlib.contextmanager
def translate_os_errors(path: Path, *, needed: int | None = None) -> Iterator[None]:
    """Turn the operating system's errors on writing `path`, of `needed` bytes, into a CheckpointError."""
    try:
        yield
    except LitebertError:
        raise
    except Exception as error:
        # Libraries written in Rust, such as safetensors, have the number only in their message.
        match = re.search(r"\(os error (\d+)\)", str(error))
        number = error.errno if isinstance(error, OSError) else int(match[1]) if match else None
        if number not in _MESSAGES:
            raise
        size = "" if needed is None else f" ({readable_bytes(needed)})"
        left = f", {readable_bytes(free_space(path))} free" if number in (errno.ENOSPC, errno.EDQUOT) else ""
        raise CheckpointError(f"{path}{size}: could not be written: {_MESSAGES[number].format(left=left)}") from error


_MESSAGES = {
    errno.ENOSPC: "the disk is full{left}; free some space or write elsewhere",
    errno.EDQUOT: "the quota is used up{left}; free some space or write elsewhere",
    errno.EFBIG: "the file is larger than the system allows (`ulimit -f`); raise the limit or write elsewhere",
    errno.EACCES: "no permission to write there; choose another place",
    errno.EPERM: "no permission to write there; choose another place",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.EIO: "the disk reports an error; write elsewhere",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EEXIST: "a file of that name is in the way; choose another place",
}


def checkpoint_paths(directory: Path) -> dict[int, Path]:
    """The checkpoints in `directory` by step, oldest first; they may be damaged."""
    found = directory.glob("step-*") if directory.is_dir() else ()
    matches = [(match, path) for path in found if (match := _CHECKPOINT.fullmatch(path.name))]
    return dict(sorted((int(match[1]), path) for match, path in matches))
