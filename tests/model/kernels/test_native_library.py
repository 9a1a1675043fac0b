"""The kernels are compiled once for a processor; where they cannot be, those of torch are used."""

import logging
import subprocess

import pytest
import torch

from litebert.model.kernels.native import library
from litebert.model.kernels.native.library import native_kernels, native_kernels_found, native_library
from support.models.native_kernels import NEEDS_GCC


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache without compiled kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library._loaded.cache_clear()
    yield tmp_path / "litebert"
    library._loaded.cache_clear()


@NEEDS_GCC
def test_kernels_are_compiled_once(cache, caplog):
    with caplog.at_level(logging.INFO, "litebert"):
        assert native_library() is not None
        library._loaded.cache_clear()
        assert native_library() is not None
    assert [record.message.startswith("compiled kernels for this processor") for record in caplog.records] == [True]
    (file,) = cache.iterdir()
    assert file.suffix == ".so"
    assert native_kernels_found().startswith("compiled for this processor")


@NEEDS_GCC
def test_other_sources_compilers_and_instruction_sets_have_other_files(cache, tmp_path, monkeypatch):
    names = {library._fingerprint("g++")}
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    names.add(library._fingerprint("g++"))
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setattr(library, "SOURCES", sources)
    names.add(library._fingerprint("g++"))
    assert len(names) == 3


@NEEDS_GCC
def test_sources_that_do_not_compile_are_told_once_and_torch_is_used(cache, tmp_path, monkeypatch, caplog):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "broken.cpp").write_text("no code")
    monkeypatch.setattr(library, "SOURCES", sources)
    assert native_library() is None
    assert native_library() is None
    (record,) = caplog.records
    assert "cannot compile the kernels for this processor, so that steps take longer" in record.message
    assert "broken.cpp" in record.message


def test_a_cache_that_cannot_be_written_is_told(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(library.shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: subprocess.CompletedProcess(args, 0, "g++", ""))
    library._loaded.cache_clear()
    assert native_library() is None
    assert "Not a directory" in caplog.text
    library._loaded.cache_clear()


@pytest.mark.parametrize("missing", ["compiler", "system"])
def test_without_gcc_or_linux_the_kernels_are_those_of_torch(cache, monkeypatch, missing):
    monkeypatch.setattr(library.shutil, "which", lambda name: None if missing == "compiler" else "/usr/bin/g++")
    monkeypatch.setattr(library.platform, "system", lambda: "Linux" if missing == "compiler" else "Darwin")
    assert native_library() is None
    assert native_kernels_found().startswith("of torch; install GCC")
    assert not cache.exists()


@NEEDS_GCC
def test_library_is_for_tensors_of_a_cpu_in_32_bits_and_bf16():
    assert native_library(torch.zeros(1), torch.zeros(1, dtype=torch.bfloat16)) is not None
    assert native_library(torch.zeros(1), torch.zeros(1, dtype=torch.float64)) is None
    assert native_library(torch.zeros(1, device="meta")) is None
    with native_kernels(False):
        assert native_library(torch.zeros(1)) is None


@NEEDS_GCC
def test_a_kernel_refuses_memory_that_is_not_contiguous():
    x = torch.zeros(4, 4)
    with pytest.raises(AssertionError):
        native_library().run("gelu", x.dtype, x.T, x, x.numel())
