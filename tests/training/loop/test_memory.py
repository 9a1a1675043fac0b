"""Memory that is used, left, and missing."""

import pytest
import torch

from litebert.training.loop.memory import OutOfMemoryError, PeakMemory, memory_left, translate_memory_errors
from support.runs.toy import ToyBatches, ToyObjective, train

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
def test_out_of_memory_error_names_the_setting(error):
    batches = ToyBatches(microbatch_size=5).microbatches(0)
    expected = "5 examples does not fit on cpu; halve microbatch_size,"
    with pytest.raises(OutOfMemoryError, match=expected) as told, translate_memory_errors(batches, CPU):
        raise error
    assert told.value.examples == 5
    assert told.value.exit_code == 4


def test_out_of_memory_error_of_a_failed_allocation(tmp_path):
    with pytest.raises(OutOfMemoryError, match=r"a microbatch of 8 examples .*; halve microbatch_size"):
        train(tmp_path, objective=ToyObjective(lambda: torch.empty(10**15)))


def test_out_of_memory_error_of_one_example_names_other_settings():
    batches = ToyBatches(microbatch_size=1).microbatches(0)
    with pytest.raises(OutOfMemoryError, match="shorten the examples"), translate_memory_errors(batches, CPU):
        raise MemoryError


def test_translate_memory_errors_passes_other_errors():
    with pytest.raises(RuntimeError, match="shapes"), translate_memory_errors([], CPU):
        raise RuntimeError("shapes differ")


def test_peak_memory_is_that_of_the_block():
    with PeakMemory(CPU) as first:
        torch.ones(25_000_000).sum()
    with PeakMemory(CPU) as second:
        pass
    assert 95e6 < first.bytes < 150e6
    assert second.bytes < 10e6


def test_peak_memory_of_an_accelerator_is_that_of_the_allocator(monkeypatch):
    cuda = torch.device("cuda")
    for name, value in {"reset_peak_memory_stats": None, "memory_allocated": 5, "max_memory_allocated": 12}.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (7, 9))
    with PeakMemory(cuda) as peak:
        pass
    assert (peak.bytes, memory_left(cuda)) == (7, 7)


def test_memory_is_zero_or_none_if_not_available(monkeypatch):
    assert memory_left(CPU) > 0

    def refuse(*args, **kwargs):
        raise OSError

    monkeypatch.setattr("litebert.machine.Path.read_text", refuse)
    monkeypatch.setattr("litebert.machine.Path.write_text", refuse)
    with PeakMemory(CPU) as peak:
        pass
    assert (peak.bytes, memory_left(CPU)) == (0, None)
