"""Memory that a process keeps, or returns to the system, when tensors are freed.

In a process of its own: what earlier tests allocated decides where new memory comes from.
"""

import json
import subprocess
import sys

import pytest

from litebert.training.loop import freed_memory
from litebert.training.loop.freed_memory import freed_memory_kept

SCRIPT = """
import resource
import torch
from litebert.machine import process_memory
from litebert.training.loop.freed_memory import freed_memory_kept

with freed_memory_kept():
    tensors = [torch.ones(2**18) for _ in range(200)]
    used = process_memory()
    del tensors
    kept = process_memory()
print([(used - kept) // 2**20, (used - process_memory()) // 2**20])

def page_faults_of_tensors():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    tensors = [torch.ones(2**18) for _ in range(100)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

with freed_memory_kept():
    print([page_faults_of_tensors() for _ in range(8)])
"""
glibc = pytest.mark.skipif(freed_memory._glibc() is None, reason="glibc only")


@glibc
def test_tensors_have_the_pages_of_those_before_and_the_system_gets_the_memory_back():
    output = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
    (in_the_block, after_it), (first, *others) = map(json.loads, output.splitlines())
    assert in_the_block < 20
    assert after_it > 150
    assert min(others) < first / 5  # not always the next one: others may have a part of their memory


def test_without_glibc_nothing_changes(monkeypatch):
    monkeypatch.setattr(freed_memory.sys, "platform", "darwin")
    monkeypatch.setattr(freed_memory, "_set", lambda *_: pytest.fail("called"))
    with freed_memory_kept():
        assert freed_memory._glibc() is None
