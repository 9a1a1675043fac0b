"""A killed and resumed run gives the same bits as one without interruption."""

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
from support.models.tolerances import PROMISED
from support.programs.forks import ForkedPopen
from support.runs.callbacks import KilledError, killer
from support.runs.full_mode import trials
from support.runs.toy import ToyBatches, losses, rows, train, trainer, validation, weights

OPTIMIZERS = {
    "lamb": ("lamb", False),
    "lamb_with_bias_correction": ("lamb", True),
    "adamw": ("adamw", True),
    "adamw_without_bias_correction": ("adamw", False),
}
LONG = {"duration": "2000 steps", "checkpoint_every": "3 steps", "keep_checkpoints": 2, "warmup": 0.1}


def optimizer_file(directory: Path) -> bytes:
    return (directory / "checkpoints" / "step-00000008" / "optimizer.safetensors").read_bytes()


@pytest.mark.parametrize(("optimizer", "bias_correction"), OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_resume_of_a_killed_run_is_bit_exact(tmp_path, optimizer, bias_correction, precision):
    changes = {
        "optimizer": optimizer,
        "bias_correction": bias_correction,
        "precision": precision,
        "duration": "8 steps",
        "checkpoint_every": "3 steps",
        "warmup": 0.25,
        "batches": ToyBatches(microbatch_size=3),
    }
    whole, _ = train(tmp_path / "whole", **changes)
    for hook, step in (("step", 2), ("step", 5), ("checkpoint", 6), ("step", 8)):
        with pytest.raises(KilledError):
            train(tmp_path / "cut", callbacks=[killer(hook, step)], **changes)
    model, _ = train(tmp_path / "cut", **changes)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert torch.equal(weights(model), weights(whole))
    assert optimizer_file(tmp_path / "cut") == optimizer_file(tmp_path / "whole")


@pytest.mark.parametrize("trial", range(trials(1, 10)))
@pytest.mark.parametrize("optimizer", ["lamb", "adamw"])
def test_resume_of_a_process_killed_at_a_random_moment_is_bit_exact(tmp_path, optimizer, trial):
    rng = rng_for(os.getpid(), "kill", optimizer, trial)
    _kill_after(int(rng.integers(1, 60)), rng.uniform(0, 0.02), tmp_path / "cut", LONG | {"optimizer": optimizer})
    reached = max(losses(tmp_path / "cut"), default=0)
    assert 0 < reached < 2000, "the process was to be killed in its middle"
    until = {"callbacks": [killer("step", reached + 5)], "optimizer": optimizer}
    runs = {name: trainer(tmp_path / name, **(LONG | until)) for name in ("cut", "whole")}
    for run in runs.values():
        with pytest.raises(KilledError):
            run.fit()
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert list(losses(tmp_path / "cut")) == list(range(1, reached + 6)), "no line is missing or repeated"
    assert torch.equal(weights(runs["cut"].model), weights(runs["whole"].model))


def _kill_after(lines: int, seconds: float, directory: Path, changes: dict) -> None:
    """Start a run in a process of its own; kill it so many seconds after its metrics have so many lines."""
    environment = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    command = [sys.executable, "-m", "support.runs.toy", str(directory), json.dumps(changes)]
    process = ForkedPopen(command, env=environment)
    metrics = directory / "metrics.jsonl"
    while process.poll() is None and (not metrics.exists() or metrics.read_bytes().count(b"\n") < lines):
        pass
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_resume_neither_loses_nor_repeats_evaluations(tmp_path):
    changes = {
        "duration": "8 steps",
        "checkpoint_every": "3 steps",
        "evaluate": validation,
        "evaluate_every": "2 steps",
    }
    train(tmp_path / "whole", **changes)
    with pytest.raises(KilledError):
        train(tmp_path / "cut", callbacks=[killer("step", 5)], **changes)
    train(tmp_path / "cut", **changes)
    evaluations = [[row for row in rows(tmp_path / name) if "evaluation/loss" in row] for name in ("cut", "whole")]
    assert evaluations[0] == evaluations[1]


def test_resume_skips_a_damaged_checkpoint(tmp_path):
    train(tmp_path / "whole", duration="8 steps")
    with pytest.raises(KilledError):
        train(tmp_path / "cut", duration="8 steps", checkpoint_every="2 steps", callbacks=[killer("step", 7)])
    (tmp_path / "cut" / "checkpoints" / "step-00000006" / "optimizer.safetensors").write_bytes(b"damaged")
    train(tmp_path / "cut", duration="8 steps")
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")


def test_runs_with_one_seed_are_equal(tmp_path):
    first, _ = train(tmp_path / "a")
    second, _ = train(tmp_path / "b")
    assert losses(tmp_path / "a") == losses(tmp_path / "b")
    assert torch.equal(weights(first), weights(second))


def test_losses_do_not_depend_on_hash_seed_or_working_directory(tmp_path):
    train(tmp_path / "here")
    environment = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads()), "PYTHONHASHSEED": "77"}
    changes = json.dumps({"duration": "6 steps", "learning_rate": 0.01, "device": "cpu"})
    command = [sys.executable, "-m", "support.runs.toy", str(tmp_path / "there"), changes]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True)
    assert losses(tmp_path / "there") == losses(tmp_path / "here")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_equal_the_recorded_ones(tmp_path, name):
    optimizer, bias_correction = OPTIMIZERS[name]
    train(tmp_path, optimizer=optimizer, bias_correction=bias_correction)
    seen = [loss for loss, *_ in losses(tmp_path).values()]
    assert seen == pytest.approx(
        json.loads((Path(__file__).parent / "losses.json").read_text())[name], rel=PROMISED["losses"]
    )


def test_evaluation_checkpoints_and_logging_do_not_change_the_weights(tmp_path):
    """Evaluating, saving and logging more or less often leave no trace in the weights."""
    first, _ = train(tmp_path / "a")
    second, _ = train(
        tmp_path / "b", evaluate=validation, evaluate_every="1 step", checkpoint_every="1 step", log_every=5
    )
    assert torch.equal(weights(first), weights(second))
