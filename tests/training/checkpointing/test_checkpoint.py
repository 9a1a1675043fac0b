"""Checkpoints are written atomically; a valid one always stays; damaged ones are found and skipped."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from litebert.errors import CheckpointError
from litebert.training.checkpointing.checkpoint import Checkpoint, Checkpoints, read_state, read_tensors, verified
from support.data.damage import DAMAGES, damaged_files
from support.runs.full_mode import trials

SHARED = [HealthCheck.function_scoped_fixture]
FILES = ["litebert.safetensors", "optimizer.safetensors", "trainer_state.json", "SHA256SUMS"]


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(
        step, {"note": step}, {"weight": torch.full((3,), float(step))}, {"weight/step": torch.tensor(2.0)}
    )


@pytest.fixture
def store(tmp_path) -> Checkpoints:
    """Checkpoints of steps 1 and 2."""
    store = Checkpoints(tmp_path / "checkpoints", keep=2)
    for step in (1, 2):
        store.save(checkpoint(step))
    return store


def newest_step(store: Checkpoints) -> int:
    """The step whose tensors `newest_valid` gives."""
    path = store.newest_valid()
    assert path is not None
    step = read_state(path)["step"]
    assert torch.equal(read_tensors(path)[0]["weight"], torch.full((3,), float(step)))
    return step


def test_checkpoint_is_read_back_as_saved(store):
    path = store.newest_valid()
    assert path == store.directory / "step-00000002"
    assert read_state(path) == {"format": 1, "step": 2, "note": 2}
    model, optimizer = read_tensors(path)
    assert torch.equal(model["weight"], torch.full((3,), 2.0))
    assert torch.equal(optimizer["weight/step"], torch.tensor(2.0))


def test_latest_names_the_newest_checkpoint(store):
    assert (store.directory / "LATEST").read_text() == "step-00000002\n"


def test_newest_valid_checkpoint_until_a_step_may_be_that_of_the_step(store):
    assert store.newest_valid(until=1) == store.path(1)
    assert store.newest_valid(until=2) == store.path(2)


def test_size_of_a_checkpoint_is_that_of_model_and_optimizer():
    saved = Checkpoint(1, {}, {"weight": torch.ones(3)}, {"weight/exp_avg": torch.ones(5)})
    assert saved.size == 4 * (3 + 5)


def test_newest_valid_checkpoint_is_none_before_the_first(tmp_path):
    assert Checkpoints(tmp_path / "checkpoints", keep=1).newest_valid() is None


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_checkpoint_with_any_damage_is_not_loaded(store, name, damage):
    path = store.directory / "step-00000002" / name
    for _ in damaged_files([path], damage, number=trials(40, 200)):
        assert newest_step(store) == 1
    assert newest_step(store) == 2


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["truncated", "deleted", "emptied"])
def test_damaged_checkpoint_is_reported_and_the_one_before_is_used(store, caplog, name, damage):
    path = store.directory / "step-00000002" / name
    content = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"")
    assert newest_step(store) == 1
    assert "step-00000002" in caplog.text
    assert "trying the checkpoint before it" in caplog.text


def test_checkpoint_with_an_incomplete_manifest_is_damaged(store):
    path = store.directory / "step-00000002" / "SHA256SUMS"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(CheckpointError, match=r"does not list trainer_state\.json"):
        verified(path.parent)


def test_newest_valid_checkpoint_is_an_error_if_all_are_damaged(store):
    for path in store.steps().values():
        (path / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match="none of the 2 checkpoints is valid"):
        store.newest_valid()


def test_checkpoint_of_another_format_is_refused(store):
    path = store.directory / "step-00000002"
    state = json.loads((path / "trainer_state.json").read_text())
    (path / "trainer_state.json").write_text(json.dumps(state | {"format": 99}))
    with pytest.raises(CheckpointError, match="format 99, this version reads 1"):
        read_state(path)


def test_temporary_files_of_a_killed_process_are_removed(store):
    for name in (".step-00000003.77.tmp", ".step-00000002.77.old"):
        (store.directory / name).mkdir()
    (store.directory / ".LATEST.77.tmp").touch()
    store.save(checkpoint(3))
    assert sorted(path.name for path in store.directory.iterdir()) == ["LATEST", "step-00000002", "step-00000003"]


def test_full_disk_leaves_the_checkpoint_before(store):
    with (
        mock.patch(
            "litebert.training.checkpointing.checkpoint.save_file", side_effect=OSError(28, "No space left on device")
        ),
        pytest.raises(CheckpointError, match="the disk is full"),
    ):
        store.save(checkpoint(3))
    assert newest_step(store) == 2
    assert sorted(path.name for path in store.directory.iterdir()) == ["LATEST", "step-00000001", "step-00000002"]


def test_checkpoint_larger_than_the_free_space_is_refused_before_it_is_written(store):
    with (
        mock.patch("litebert.files.free_space", return_value=1),
        mock.patch("litebert.training.checkpointing.checkpoint.save_file") as written,
        pytest.raises(CheckpointError, match="free"),
    ):
        store.save(checkpoint(3))
    written.assert_not_called()


@pytest.mark.parametrize(("keep", "kept"), [(1, [3]), (2, [2, 3]), (9, [1, 2, 3])])
def test_retention_removes_checkpoints_after_a_rollback_and_keeps_the_new_one(tmp_path, keep, kept):
    """Steps 5 and 6 are from before a rollback to step 2; then step 3 is saved."""
    for step in (1, 2, 5, 6):
        Checkpoints(tmp_path, keep=9).save(checkpoint(step))
    store = Checkpoints(tmp_path, keep=keep)
    store.save(checkpoint(3))
    assert list(store.steps()) == kept
    assert newest_step(store) == 3


def test_retention_keeps_the_checkpoint_before_skipped_steps(tmp_path):
    """A run that was stopped while it skips steps has saved its state, and may have to roll back when it continues."""
    store = Checkpoints(tmp_path, keep=1)
    for step, skipped in ((4, 0), (8, 0), (10, 2), (11, 3)):
        store.save(replace(checkpoint(step), state={"progress": {"consecutive_skipped_steps": skipped}}))
    assert list(store.steps()) == [8, 11]
    store.save(replace(checkpoint(12), state={"progress": {"consecutive_skipped_steps": 0}}))
    assert list(store.steps()) == [12]


class KilledError(BaseException):
    """The process would be gone."""


class Killer:
    """From its n-th operation on files below a directory on, nothing happens any more, as after `kill -9`.

    Python cannot remove such a hook, which every later test of the process pays for: one is made when it is needed.
    """

    def __init__(self) -> None:
        self.directory: Path | None = None
        self.left = 0
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple) -> None:
        if self.directory is None:
            return
        watched = event.startswith(("os.", "shutil.")) or event == "open"
        if not watched or not any(self._below(argument) for argument in arguments):
            return
        self.left -= 1
        if self.left < 0:
            raise KilledError

    def _below(self, argument: object) -> bool:
        return isinstance(argument, str | Path) and str(argument).startswith(str(self.directory))


@pytest.fixture(scope="module")
def killer() -> Killer:
    return Killer()


def saved_until_killed(killer: Killer, store: Checkpoints, step: int, *, operations: int) -> bool:
    """Whether a save that is killed after so many operations came to its end."""
    killer.directory, killer.left = store.directory, operations
    try:
        store.save(checkpoint(step))
    except KilledError:
        return False
    finally:
        killer.directory = None
    return True


def test_kill_at_any_operation_of_a_save_leaves_a_valid_checkpoint(tmp_path, killer):
    operations = finished = 0
    while not finished:
        store = Checkpoints(tmp_path / str(operations), keep=2)
        for step in (1, 2):
            store.save(checkpoint(step))
        finished = saved_until_killed(killer, store, 3, operations=operations)
        assert newest_step(store) in ((3,) if finished else (2, 3))
        latest = (store.directory / "LATEST").read_text().strip()
        assert (store.directory / latest / "SHA256SUMS").is_file()
        store.save(checkpoint(4))
        assert newest_step(store) == 4
        assert not list(store.directory.glob(".*"))
        operations += 1
    assert operations > 20


def test_kill_while_a_damaged_checkpoint_is_replaced_leaves_a_valid_one(tmp_path, killer):
    operations = finished = 0
    while not finished:
        store = Checkpoints(tmp_path / str(operations), keep=2)
        for step in (1, 2):
            store.save(checkpoint(step))
        (store.directory / "step-00000002" / "litebert.safetensors").unlink()
        finished = saved_until_killed(killer, store, 2, operations=operations)
        assert newest_step(store) in ((2,) if finished else (1, 2))
        operations += 1


@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=trials(60, 1000), deadline=None
)
@given(
    keep=st.integers(1, 3),
    actions=st.lists(st.sampled_from(["save", "save", "damage newest", "damage oldest", "resume"]), max_size=10),
)
def test_retention_keeps_the_newest_and_never_removes_the_only_valid_one(tmp_path_factory, keep, actions):
    store = Checkpoints(tmp_path_factory.mktemp("store"), keep=keep)
    step, valid = 0, set()
    for action in actions:
        steps = store.steps()
        if action == "save":
            step += 1
            store.save(checkpoint(step))
            valid = {s for s in valid if s in store.steps()} | {step}
            assert newest_step(store) == step
            assert (store.directory / "LATEST").read_text() == f"step-{step:08d}\n"
            assert len(store.steps()) <= keep
        elif action.startswith("damage") and steps:
            damaged = max(steps) if action == "damage newest" else min(steps)
            (steps[damaged] / "litebert.safetensors").write_bytes(b"")
            valid.discard(damaged)
        elif action == "resume" and valid:
            assert newest_step(store) == max(valid)
            step = max(valid)
