"""A run that was killed goes on bit by bit as if it had not been."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from litebert.randomness import rng_for
from support.callbacks import KilledError, killer
from support.full_mode import trials
from support.toy import ToyBatches, held_out, losses, rows, train, trainer, weights

LONG = {"duration": "2000 steps", "checkpoint_every": "3 steps", "keep_checkpoints": 2, "warmup": 0.1}


def optimizer_file(directory: Path) -> bytes:
    return (directory / "checkpoints" / "step-00000008" / "optimizer.safetensors").read_bytes()


@pytest.mark.parametrize("optimizer", ["lamb", "lamb_bias_corrected", "adamw", "adamw_uncorrected"])
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_killed_run_goes_on_bit_by_bit(tmp_path, optimizer, precision):
    changes = {
        "optimizer": optimizer,
        "precision": precision,
        "duration": "8 steps",
        "checkpoint_every": "3 steps",
        "warmup": 0.25,
        "batches": ToyBatches(microbatch_size=3),
    }
    whole, _ = train(tmp_path / "whole", **changes)
    for kind, step in (("step", 2), ("step", 5), ("checkpoint", 6), ("step", 8)):
        with pytest.raises(KilledError):
            train(tmp_path / "cut", callbacks=[killer(kind, step)], **changes)
    model, _ = train(tmp_path / "cut", **changes)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert torch.equal(weights(model), weights(whole))
    assert optimizer_file(tmp_path / "cut") == optimizer_file(tmp_path / "whole")


@pytest.mark.parametrize("trial", range(trials(1, 10)))
@pytest.mark.parametrize("optimizer", ["lamb", "adamw"])
def test_a_process_killed_at_a_random_moment_goes_on_bit_by_bit(tmp_path, optimizer, trial):
    rng = rng_for(os.getpid(), "kill", optimizer, trial)
    _kill_after(int(rng.integers(1, 60)), rng.uniform(0, 0.02), tmp_path / "cut", LONG | {"optimizer": optimizer})
    reached = max(losses(tmp_path / "cut"), default=0)
    assert 0 < reached < 2000, "the process was to be killed in its middle"
    until = {"listeners": [killer("step", reached + 5)], "optimizer": optimizer}
    runs = {name: trainer(tmp_path / name, **(LONG | until)) for name in ("cut", "whole")}
    for run in runs.values():
        with pytest.raises(KilledError):
            run.fit()
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert list(losses(tmp_path / "cut")) == list(range(1, reached + 6)), "no line is missing or repeated"
    assert torch.equal(weights(runs["cut"].model), weights(runs["whole"].model))


def _kill_after(lines: int, seconds: float, directory: Path, changes: dict) -> None:
    """Start a run in a process of its own; kill it so many seconds after its metrics have so many lines."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "support.toy", str(directory), json.dumps(changes)]
    process = subprocess.Popen(command, env=environment)
    metrics = directory / "metrics.jsonl"
    while process.poll() is None and (not metrics.exists() or metrics.read_bytes().count(b"\n") < lines):
        pass
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_evaluations_are_neither_lost_nor_repeated(tmp_path):
    changes = {"duration": "8 steps", "checkpoint_every": "3 steps", "evaluate": held_out, "evaluate_every": "2 steps"}
    train(tmp_path / "whole", **changes)
    with pytest.raises(KilledError):
        train(tmp_path / "cut", callbacks=[killer("step", 5)], **changes)
    train(tmp_path / "cut", **changes)
    evaluations = [[row for row in rows(tmp_path / name) if "evaluation/loss" in row] for name in ("cut", "whole")]
    assert evaluations[0] == evaluations[1]


def test_a_damaged_checkpoint_costs_one_interval_and_nothing_else(tmp_path):
    train(tmp_path / "whole", duration="8 steps")
    with pytest.raises(KilledError):
        train(tmp_path / "cut", duration="8 steps", checkpoint_every="2 steps", callbacks=[killer("step", 7)])
    (tmp_path / "cut" / "checkpoints" / "step-00000006" / "optimizer.safetensors").write_bytes(b"damaged")
    train(tmp_path / "cut", duration="8 steps")
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")


def test_two_runs_with_one_seed_are_the_same(tmp_path):
    first, _ = train(tmp_path / "a")
    second, _ = train(tmp_path / "b")
    assert losses(tmp_path / "a") == losses(tmp_path / "b")
    assert torch.equal(weights(first), weights(second))


def test_neither_the_hash_seed_nor_the_working_directory_matters(tmp_path):
    train(tmp_path / "here")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "77"}
    changes = json.dumps({"duration": "6 steps", "learning_rate": 0.01, "device": "cpu"})
    command = [sys.executable, "-m", "support.toy", str(tmp_path / "there"), changes]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True)
    assert losses(tmp_path / "there") == losses(tmp_path / "here")


@pytest.mark.parametrize("optimizer", ["lamb", "lamb_bias_corrected", "adamw", "adamw_uncorrected"])
def test_losses_are_those_on_record(tmp_path, optimizer):
    """A change that is to leave the numbers alone leaves these; one that is not writes them anew, and says so."""
    train(tmp_path, optimizer=optimizer)
    seen = [loss for loss, *_ in losses(tmp_path).values()]
    assert seen == pytest.approx(json.loads((Path(__file__).parent / "losses.json").read_text())[optimizer], rel=1e-6)


def test_looking_changes_nothing(tmp_path):
    """Evaluating, saving and logging more or less often leave no trace in the weights."""
    first, _ = train(tmp_path / "a")
    second, _ = train(
        tmp_path / "b", evaluate=held_out, evaluate_every="1 step", checkpoint_every="1 step", log_every=5
    )
    assert torch.equal(weights(first), weights(second))
