"""Batches come one step ahead, from a thread, in any order that is asked."""

import threading

import pytest
import torch

from litebert.training.loop.prefetcher import Prefetcher
from support.runs.toy import ToyBatches


class Watched(ToyBatches):
    """Notes which steps were made, and in which thread."""

    def microbatches(self, step):
        MADE.append((step, threading.current_thread().name))
        return super().microbatches(step)


MADE: list[tuple[int, str]] = []


@pytest.fixture
def prefetcher():
    MADE.clear()
    with Prefetcher(Watched()) as prefetcher:
        yield prefetcher


@pytest.mark.parametrize("steps", [[0, 1, 2], [5, 6], [3, 3], [7, 2]])
def test_prefetcher_gives_each_step_its_own_batch(prefetcher, steps):
    for step in steps:
        assert torch.equal(prefetcher.microbatches(step)[0].inputs, ToyBatches().microbatches(step)[0].inputs)


def test_prefetcher_makes_one_step_ahead_and_none_twice(prefetcher):
    for step in range(3):
        prefetcher.microbatches(step)
    prefetcher.__exit__(None, None, None)
    assert [step for step, _ in MADE] in ([0, 1, 2], [0, 1, 2, 3])
    assert all(name.startswith("litebert-batches") for _, name in MADE)
