"""Memory that a process keeps, or returns to the system, when tensors are freed."""

import resource

import pytest
import torch

from litebert.machine import process_memory
from litebert.training.loop import freed_memory
from litebert.training.loop.freed_memory import freed_memory_kept

PAGES, MIB = 10_000, 2**20
glibc = pytest.mark.skipif(freed_memory._glibc() is None, reason="glibc only")


def page_faults_of_a_tensor() -> int:
    """Page faults of a tensor of `PAGES` pages that is allocated, written and freed."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(PAGES * 1024)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@glibc
def test_a_second_tensor_has_the_pages_of_the_first():
    with freed_memory_kept():
        page_faults_of_a_tensor()
        assert page_faults_of_a_tensor() < PAGES / 10


@glibc
def test_the_system_gets_the_memory_back():
    with freed_memory_kept():
        tensors = [torch.ones(MIB // 4) for _ in range(200)]
        used = process_memory()
        del tensors
        assert process_memory() > used - 20 * MIB
    assert process_memory() < used - 150 * MIB


def test_without_glibc_nothing_changes(monkeypatch):
    monkeypatch.setattr(freed_memory.sys, "platform", "darwin")
    monkeypatch.setattr(freed_memory, "_set", lambda *_: pytest.fail("called"))
    with freed_memory_kept():
        assert freed_memory._glibc() is None
