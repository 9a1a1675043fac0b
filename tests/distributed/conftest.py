"""Processes that run the scenarios of `distributed_worker`, started once for all tests as torchrun would start them."""

import os
import sys
from pathlib import Path

import pytest
import torch

from support.programs.distributed_worker import ELASTIC
from support.programs.forks import ForkedPopen
from support.programs.processes import free_port
from support.runs.callbacks import killed_after_saving
from support.runs.toy import ToyModel, train


def run_ranks(size: int, directory: Path) -> list[dict]:
    """What each of `size` ranks returned, by scenario."""
    together = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(size),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "support.programs.distributed_worker", str(directory)]
    processes = [ForkedPopen(command, env=os.environ | together | {"RANK": str(rank)}) for rank in range(size)]
    assert [process.wait(timeout=300) for process in processes] == [0] * size
    return [torch.load(directory / f"rank-{rank}.pt") for rank in range(size)]


@pytest.fixture(scope="session")
def directory(tmp_path_factory) -> Path:
    """Where two ranks run; `elastic` was begun by one process, up to step 2."""
    directory = tmp_path_factory.mktemp("two")
    killed_after_saving(
        2, lambda **callbacks: train(directory / "elastic", model=ToyModel(0.0), **ELASTIC, **callbacks)
    )
    return directory


@pytest.fixture(scope="session")
def ranks(directory) -> list[dict]:
    """Results of rank 0 and rank 1, by scenario."""
    return run_ranks(2, directory)


@pytest.fixture(scope="session")
def three_ranks(tmp_path_factory) -> list[dict]:
    """Results of three ranks, by scenario."""
    return run_ranks(3, tmp_path_factory.mktemp("three"))
