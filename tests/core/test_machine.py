"""What the operating system reports, and what is returned where it reports nothing."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from litebert import machine
from litebert.machine import (
    available_memory,
    environment,
    has_bf16_instructions,
    num_cores,
    package_version,
    peak_process_memory,
    process_memory,
    processor_name,
    source_commit,
    total_memory,
)


def test_environment_has_versions_machine_and_commit():
    found = environment()
    assert found["packages"]["numpy"]
    assert found["processor"]
    assert set(found) == {"command", "python", "platform", "processor", "packages", "commit"}


def test_memory_sizes_are_ordered():
    total, available = total_memory(), available_memory()
    if total and available:
        assert 0 < process_memory() <= peak_process_memory() <= total
        assert 0 < available <= total
    assert num_cores() >= 1


def test_unknown_processor_and_memory_have_fallbacks(monkeypatch):
    def fail(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(os, "sysconf", fail)
    assert total_memory() is None
    monkeypatch.setattr(machine.Path, "read_text", fail)
    assert processor_name() == (platform.processor() or platform.machine())
    assert (available_memory(), process_memory(), peak_process_memory()) == (None, 0, 0)
    assert package_version("no-such-package") == "missing"


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [("flags\t: fpu avx512_bf16\n", True), ("flags\t: fpu avx2\n", False), ("Features : fp bf16\n", True), ("", None)],
)
def test_bf16_instructions_are_read_from_the_processor_flags(monkeypatch, cpuinfo, expected):
    monkeypatch.setattr(machine.Path, "read_text", lambda *args, **kwargs: cpuinfo)
    assert has_bf16_instructions() is expected


@pytest.fixture
def checkout(tmp_path):
    """A git checkout with one commit."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("needs git")
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run([git, "-C", str(tmp_path), *identity, *words], check=True)
    return tmp_path


def test_source_commit_is_that_of_litebert_s_own_checkout(checkout):
    assert len(source_commit(checkout / "src" / "litebert") or "") == 40


@pytest.mark.parametrize("place", ["venv/lib/python3/site-packages/litebert", "vendor/src/litebert", "litebert"])
def test_source_commit_is_none_inside_another_project_s_checkout(checkout, place):
    assert source_commit(checkout / Path(place)) is None


def test_source_commit_is_none_without_git(checkout, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(subprocess, "run", fail)
    assert source_commit(checkout / "src" / "litebert") is None
