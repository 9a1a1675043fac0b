"""Two processes, started once for all tests of this folder, as torchrun would start them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from support.callbacks import killed_after_saving
from support.distributed_worker import ELASTIC
from support.processes import free_port
from support.toy import ToyModel, train


@pytest.fixture(scope="session")
def directory(tmp_path_factory) -> Path:
    """Where the two ranks ran; `elastic` was begun by one process, up to step 2."""
    directory = tmp_path_factory.mktemp("two")
    killed_after_saving(2, lambda **listen: train(directory / "elastic", model=ToyModel(0.0), **ELASTIC, **listen))
    together = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "support.distributed_worker", str(directory)]
    ranks = [subprocess.Popen(command, env=os.environ | together | {"RANK": str(rank)}) for rank in range(2)]
    assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
    return directory


@pytest.fixture(scope="session")
def ranks(directory) -> list[dict]:
    """What rank 0 and rank 1 saw, by scenario."""
    return [torch.load(directory / f"rank-{rank}.pt") for rank in range(2)]
