"""Under torchrun: a killed rank costs one checkpoint interval, a hanging rank is named and all exit."""

import logging
import os
import subprocess
import sys
import time

import pytest

from litebert.randomness import rng_for
from support.models.tolerances import PROMISED
from support.programs.processes import free_port
from support.programs.torchrun_script import RUN
from support.runs.full_mode import trials
from support.runs.toy import ToyModel, losses, train

pytestmark = pytest.mark.usefixtures("forked_python")

logger = logging.getLogger(__name__)

ENVIRONMENT = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict:
    """Losses of the run without interruption."""
    directory = tmp_path_factory.mktemp("whole")
    train(directory, model=ToyModel(0.0), **RUN)
    return losses(directory)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("trial", range(trials(1, 20)))
def test_killed_rank_costs_one_checkpoint_interval_and_no_process_stays(tmp_path, whole, trial):
    step = int(rng_for(os.getpid(), "kill", trial).integers(6, 24))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["--max-restarts=1", "-m", "support.programs.torchrun_script", "killed", str(tmp_path), "60", str(step)]
    safe = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    done = subprocess.run(command, env=os.environ | ENVIRONMENT | safe, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "a restart by torchrun may hang" not in done.stderr
    seen = losses(tmp_path / "run")
    assert list(seen) == list(whole)
    for number in whole:
        assert seen[number] == pytest.approx(whole[number], rel=PROMISED["losses"])
    processes = [int(path.name.removeprefix("pid-")) for path in tmp_path.glob("pid-*")]
    assert len(processes) == 4, "two ranks, started twice"
    assert not any(alive(process) for process in processes)
    seconds = float((tmp_path / "again").read_text()) - float((tmp_path / "killed").read_text())
    logger.info("killed at step %d, next step after %.1f s", step, seconds)  # no assertion: the machine may be busy


def test_process_may_begin_several_runs_one_after_the_other(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "support.programs.torchrun_script", "repeated", str(tmp_path), "60", "6"]
    done = subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert found == {f"run-{number}-{rank}": 2 * number + 1 for number in range(6) for rank in range(2)}


def test_hanging_rank_is_named_and_all_ranks_exit_in_time(tmp_path):
    together = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    command = [sys.executable, "-m", "support.programs.torchrun_script", "asleep", str(tmp_path), "5", "6"]
    ranks = [
        subprocess.Popen(
            command,
            env=os.environ | ENVIRONMENT | together | {"RANK": str(rank), "TORCHELASTIC_MAX_RESTARTS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    metrics = tmp_path / "run" / "metrics.jsonl"
    while any(rank.poll() is None for rank in ranks) and not metrics.exists():
        time.sleep(0.01)
    began = time.monotonic()
    errors = [rank.communicate(timeout=60)[1] for rank in ranks]
    assert time.monotonic() - began < 30, "rank 1 would sleep for 60 s"
    assert [rank.returncode for rank in ranks] == [1, 1]
    for rank, text in enumerate(errors):
        assert f"straggler timeout: rank 1 is behind for timeout_seconds=5; rank {rank} exits" in text
        assert "a restart by torchrun may hang; start it with TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1" in text
