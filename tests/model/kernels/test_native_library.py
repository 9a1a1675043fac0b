"""The kernels are compiled once for a processor; where they cannot be, those of torch are used."""

import logging
import subprocess
import warnings

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from litebert.model.encoder import Encoder
from litebert.model.kernels.native import library
from litebert.model.kernels.native.library import native_kernels, native_kernels_found, native_library
from litebert.model.presets import preset
from support.models.native_kernels import NEEDS_GCC


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache without compiled kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library._loaded.cache_clear()
    yield tmp_path / "litebert"
    library._loaded.cache_clear()


@NEEDS_GCC
def test_kernels_are_compiled_once_and_again_where_a_library_is_not_whole(cache, caplog):
    cache.mkdir()
    part = cache / f"{library._fingerprint('g++')}.so"
    part.write_bytes(b"part")
    with caplog.at_level(logging.INFO, "litebert"):
        assert native_library() is not None
        library._loaded.cache_clear()
        assert native_library() is not None
    assert [record.message.startswith("compiled kernels for this processor") for record in caplog.records] == [True]
    assert list(cache.iterdir()) == [part]
    assert part.stat().st_size > len(b"part")
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
    assert "cannot compile kernels for this processor, training and prediction take longer" in record.message
    assert "broken.cpp" in record.message


def test_a_cache_that_cannot_be_written_is_told(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(library.shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: subprocess.CompletedProcess(args, 0, b"g++", b""))
    library._loaded.cache_clear()
    assert native_library() is None
    assert "Not a directory" in caplog.text
    assert "Not a directory" in native_kernels_found()
    library._loaded.cache_clear()


@pytest.mark.parametrize("missing", ["compiler", "system"])
def test_without_gcc_or_linux_the_kernels_are_those_of_torch(cache, monkeypatch, missing):
    monkeypatch.setattr(library.shutil, "which", lambda name: None if missing == "compiler" else "/usr/bin/g++")
    monkeypatch.setattr(library.platform, "system", lambda: "Linux" if missing == "compiler" else "Darwin")
    assert native_library() is None
    assert native_kernels_found().endswith("longer: install GCC (g++), on Linux")
    assert not cache.exists()


@NEEDS_GCC
def test_library_is_for_tensors_of_a_cpu_in_32_bits_and_bf16():
    assert native_library(torch.zeros(1), torch.zeros(1, dtype=torch.bfloat16)) is not None
    assert native_library(torch.zeros(1), torch.zeros(1, dtype=torch.float64)) is None
    assert native_library(torch.zeros(1, device="meta")) is None
    with native_kernels(enabled=False):
        assert native_library(torch.zeros(1)) is None


def test_without_a_home_directory_the_kernels_are_those_of_torch(cache, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(library.Path, "home", no_home)
    assert native_library() is None


def test_a_torch_without_its_openmp_has_the_kernels_of_torch(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(library.shutil, "which", lambda name: "/usr/bin/g++")
    monkeypatch.setattr(library.platform, "system", lambda: "Linux")
    monkeypatch.setattr(library, "_openmp_of_torch", lambda: tmp_path / "libgomp.so.1")
    assert "does not bring libgomp.so.1" in native_kernels_found()


@NEEDS_GCC
def test_a_kernel_refuses_memory_that_is_not_contiguous():
    x = torch.zeros(4, 4)
    with pytest.raises(ValueError, match="strides"):
        native_library().run("gelu", x.dtype, x.T, x, x.numel())


class OperatorsSeen(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **kwargs or {})


@NEEDS_GCC
def test_kernels_are_left_out_where_torch_traces_or_transforms():
    seen = []

    def function(x):
        seen.append(native_library(x))
        return x.sum()

    x = torch.zeros(2)
    torch.func.grad(function)(x)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        torch.jit.trace(function, x, check_trace=False)
    with forward_ad.dual_level():
        function(x)
    with OperatorsSeen():
        function(x)
    with FakeTensorMode():
        function(torch.zeros(2))
    assert len(seen) >= 5
    assert not any(seen)


@NEEDS_GCC
@pytest.mark.parametrize("name", ["tiny", "modern-tiny"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64], ids=str)
def test_models_in_other_dtypes_compute_in_them(name, dtype):
    config = preset(name).replace(num_hidden_layers=1, attention_probs_dropout_prob=0.0)
    encoder = Encoder(config).to(dtype)
    ids, mask = torch.zeros(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.bool)
    for model in (encoder.train(), encoder.eval()):
        assert model(ids, mask, ids).last_hidden_state.dtype == dtype
