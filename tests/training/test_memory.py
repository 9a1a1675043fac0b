"""A step without enough memory is answered by the setting that needs less."""

import pytest
import torch

from litebert.training.memory import OutOfMemoryError, explained_memory
from training.toy import ToyBatches, ToyObjective, train

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
    expected = "5 examples needs more than cpu has; set microbatch_size=2,"
    with pytest.raises(OutOfMemoryError, match=expected) as told, explained_memory(batches, CPU):
        raise error
    assert told.value.examples == 5
    assert told.value.exit_code == 1


def test_a_real_allocation_that_fails_is_told(tmp_path):
    with pytest.raises(OutOfMemoryError, match="set microbatch_size=4"):
        train(tmp_path, objective=ToyObjective(lambda: torch.empty(10**15)))


def test_where_a_single_example_is_too_much_other_ways_are_named():
    batches = ToyBatches(microbatch_size=1).microbatches(0)
    with pytest.raises(OutOfMemoryError, match="shorten the examples"), explained_memory(batches, CPU):
        raise MemoryError


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="shapes"), explained_memory([], CPU):
        raise RuntimeError("shapes differ")
