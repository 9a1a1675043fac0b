"""Checkpoints on disk; a run resumes from the newest valid one.

    checkpoints/step-00001000/{litebert.safetensors, optimizer.safetensors, trainer_state.json, SHA256SUMS}
    checkpoints/LATEST        name of the newest one

With the files that a run adds, such as `config.json` and the vocabulary, a checkpoint is a model directory too.

Why not torch's DCP: docs/decisions/0002-checkpoints-are-safetensors.md.
"""

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from litebert.errors import CheckpointError, LitebertError
from litebert.files import (
    TRAINER_STATE,
    checkpoint_paths,
    locked,
    require_space,
    translate_os_errors,
    write_bytes,
    write_json,
    write_text,
)
from litebert.manifest import atomic_directory, read_manifest, verify_manifest

LATEST = "LATEST"
_FORMAT = 1
_MODEL, _OPTIMIZER, _STATE = "litebert.safetensors", "optimizer.safetensors", TRAINER_STATE

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run: tensors and plain values, independent of the number of ranks."""

    step: int
    state: dict[str, Any]
    """Progress, state of the callbacks and fingerprint, ready for JSON."""
    model: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]

    @property
    def size(self) -> int:
        """Bytes of its tensors; the rest is small."""
        return sum(tensor.nbytes for tensors in (self.model, self.optimizer) for tensor in tensors.values())


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one run, written by one process."""

    directory: Path
    keep: int
    """Number of checkpoints to keep, the newest ones."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Further files of each checkpoint: name → content."""

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write `checkpoint` atomically, then remove those that are too old."""
        self._remove_temporary_files()
        path = self.path(checkpoint.step)
        require_space(path, checkpoint.size)
        with atomic_directory(path) as temporary, translate_os_errors(path, needed=checkpoint.size):
            save_file(dict(checkpoint.model), temporary / _MODEL)
            save_file(dict(checkpoint.optimizer), temporary / _OPTIMIZER)
            for name, content in self.files.items():
                write_bytes(temporary / name, content)
            write_json(temporary / _STATE, {"format": _FORMAT, "step": checkpoint.step, **checkpoint.state})
        write_text(self.directory / LATEST, path.name + "\n")
        self._retain(checkpoint.step)
        return path

    def path(self, step: int) -> Path:
        """The path of the checkpoint of a step."""
        return self.directory / f"step-{step:08d}"

    def newest_valid(self, *, until: int | None = None) -> Path | None:
        """The newest checkpoint up to step `until` whose SHA-256 sums match; None if there is no checkpoint.

        Damaged ones are skipped with a warning. A CheckpointError if all are damaged: the run does not start again.
        """
        steps = {step: path for step, path in self.steps().items() if until is None or step <= until}
        for step in reversed(steps):
            try:
                return verified(steps[step])
            except CheckpointError as error:
                logger.warning("%s; trying the checkpoint before it", error)
        if steps:
            raise CheckpointError(
                f"{self.directory}: none of the {len(steps)} checkpoints is valid; "
                f"restore one from a copy, or remove the directory to start again"
            )
        return None

    def steps(self) -> dict[int, Path]:
        """Paths by step, oldest first; the checkpoints may be damaged."""
        return checkpoint_paths(self.directory)

    def _retain(self, newest: int) -> None:
        """Keep `newest`, just written, and those before it; later ones are damaged, or from before a rollback."""
        steps = self.steps()
        past = [step for step in steps if step <= newest]
        # A run that was stopped while it skipped steps may have to roll back to before them.
        before_skips = [step for step in past if not _skips_steps(steps[step])]
        kept = {*past[-self.keep :], *before_skips[-1:]}
        for step, path in steps.items():
            if step not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _remove_temporary_files(self) -> None:
        """Remove the temporary files of a process that was killed during a save."""
        for pattern in (".step-*.tmp", ".step-*.old", f".{LATEST}.*.tmp"):
            for path in self.directory.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _skips_steps(path: Path) -> bool:
    """Whether the last steps before a checkpoint were skipped, or it is damaged: nothing to roll back to."""
    try:
        state = read_state(path)
    except (CheckpointError, OSError, ValueError):
        return True
    return bool(state.get("progress", {}).get("consecutive_skipped_steps"))


def verified(path: Path) -> Path:
    """`path`, if every file of the checkpoint has its SHA-256; else a CheckpointError."""
    try:
        verify_manifest(path)
        listed = read_manifest(path)
    except OSError as error:
        raise CheckpointError(f"{path}: damaged: {error.strerror}: {error.filename}") from None
    if missing := {_MODEL, _OPTIMIZER, _STATE} - listed.keys():
        raise CheckpointError(f"{path}: damaged: SHA256SUMS does not list {', '.join(sorted(missing))}")
    return path


def read_state(path: Path) -> dict[str, Any]:
    """The plain values of a checkpoint."""
    state = json.loads((path / _STATE).read_text(encoding="utf-8"))
    if state["format"] != _FORMAT:
        raise CheckpointError(
            f"{path}: format {state['format']}, this version reads {_FORMAT}; resume with the version that wrote it"
        )
    return state


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The tensors of the model and of the optimizer, on the CPU."""
    return load_file(path / _MODEL), load_file(path / _OPTIMIZER)


class AsyncCheckpointer:
    """Writes one checkpoint at a time in a thread of rank 0."""

    def __init__(self, checkpoints: Checkpoints, *, before: Callable[[], None]) -> None:
        """`before` is called in the thread before each write: it makes durable what no checkpoint may be ahead of."""
        self.checkpoints, self._before = checkpoints, before
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="litebert-checkpoint")
        self._in_flight: tuple[int, Future[Path]] | None = None
        """Step of the checkpoint that is being written, and its path to come."""

    def __enter__(self) -> "AsyncCheckpointer":
        return self

    def __exit__(self, *error: object) -> None:
        """Wait for the write in flight; its failure is only logged, as the run has ended already."""
        self._thread.shutdown(wait=True)
        if self._in_flight and (failure := self._in_flight[1].exception()):
            logger.warning("%s", _translated(self.checkpoints.path(self._in_flight[0]), failure))

    @property
    def ended(self) -> bool:
        """Whether a write has ended or failed and `finish` was not called since."""
        return self._in_flight is not None and self._in_flight[1].done()

    def start(self, checkpoint: Checkpoint) -> None:
        """Begin a write; `finish` must have been called for the one before."""
        self._in_flight = checkpoint.step, self._thread.submit(self._write, checkpoint)

    def finish(self) -> tuple[int, Path] | None:
        """Step and path of the checkpoint in flight, if there is one, once written; a CheckpointError if it failed."""
        if self._in_flight is None:
            return None
        (step, written), self._in_flight = self._in_flight, None
        if failure := written.exception():
            raise _translated(self.checkpoints.path(step), failure) from failure
        return step, written.result()

    def _write(self, checkpoint: Checkpoint) -> Path:
        self._before()
        return self.checkpoints.save(checkpoint)


def _translated(path: Path, failure: BaseException) -> LitebertError:
    if isinstance(failure, LitebertError):
        return failure
    return CheckpointError(f"{path}: could not be written ({failure!r}); the checkpoint before it is unchanged")


def locked_directory(directory: Path) -> AbstractContextManager[None]:
    """Lock the directory of a run; a CheckpointError if another process has locked it."""
    message = f"{directory}: another process is at work in this directory; wait for it, stop it, or choose another"
    return locked(directory / ".lock", busy=CheckpointError(message))
