"""A step without enough memory is answered by the setting that needs less."""

import pytest
import torch

from litebert.training.loop.memory import OutOfMemoryError, PeakMemory, explained_memory, memory_left
from support.toy import ToyBatches, ToyObjective, train

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
        MemoryError(),
    ],
)
def test_every_kind_of_exhaustion_names_the_setting(error):
    batches = ToyBatches(microbatch_size=5).microbatches(0)
    expected = "5 examples needs more than cpu has; halve microbatch_size,"
    with pytest.raises(OutOfMemoryError, match=expected) as told, explained_memory(batches, CPU):
        raise error
    assert told.value.examples == 5
    assert told.value.exit_code == 1


def test_a_real_allocation_that_fails_is_told(tmp_path):
    with pytest.raises(OutOfMemoryError, match=r"a microbatch of 8 examples .*; halve microbatch_size"):
        train(tmp_path, objective=ToyObjective(lambda: torch.empty(10**15)))


def test_where_a_single_example_is_too_much_other_ways_are_named():
    batches = ToyBatches(microbatch_size=1).microbatches(0)
    with pytest.raises(OutOfMemoryError, match="shorten the examples"), explained_memory(batches, CPU):
        raise MemoryError


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="shapes"), explained_memory([], CPU):
        raise RuntimeError("shapes differ")


def test_the_peak_is_what_was_used_at_most_beyond_what_was_there():
    with PeakMemory(CPU) as first:
        torch.ones(25_000_000).sum()
    with PeakMemory(CPU) as second:
        pass
    assert 95e6 < first.bytes < 150e6
    assert second.bytes < 10e6


def test_of_an_accelerator_the_allocator_is_asked(monkeypatch):
    cuda = torch.device("cuda")
    for name, value in {"reset_peak_memory_stats": None, "memory_allocated": 5, "max_memory_allocated": 12}.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (7, 9))
    with PeakMemory(cuda) as peak:
        pass
    assert (peak.bytes, memory_left(cuda)) == (7, 7)


def test_where_the_system_does_not_say_nothing_is_claimed(monkeypatch):
    assert memory_left(CPU) > 0

    def refuse(*args, **kwargs):
        raise OSError

    monkeypatch.setattr("litebert.machine.Path.read_text", refuse)
    monkeypatch.setattr("litebert.machine.Path.write_text", refuse)
    with PeakMemory(CPU) as peak:
        pass
    assert (peak.bytes, memory_left(CPU)) == (0, None)
