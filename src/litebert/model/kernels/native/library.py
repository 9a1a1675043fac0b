"""Compile the C++ kernels for this processor, once, and call them.

The compiled library is kept in `~/.cache/litebert` (`XDG_CACHE_HOME`), under a name made of its sources, the compiler
and the processor. It needs GCC and Linux. It runs on the threads of torch: the functions of OpenMP that it calls are
those that torch has loaded.
"""

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

SOURCES: Final = Path(__file__).parent / "sources"
COMPILERS: Final = ("g++", "c++")
FLAGS: Final = ("-O3", "-std=c++17", "-fPIC", "-fopenmp")
ARCHITECTURES: Final = {"AVX2": "x86-64-v3", "DEFAULT": "x86-64"}
"""Where torch has narrower vectors than the processor, because of `ATEN_CPU_CAPABILITY`, so have the kernels."""
NAMES: Final = {torch.float32: "float32", torch.bfloat16: "bfloat16"}
"""The dtypes of which there are kernels."""
_SECONDS: Final = 120
_enabled = True
logger = logging.getLogger(__name__)


class NativeLibrary:
    """The compiled kernels."""

    def __init__(self, path: Path) -> None:
        ctypes.CDLL(str(_openmp_of_torch()), mode=ctypes.RTLD_GLOBAL)
        self._library = ctypes.CDLL(str(path))
        self.has_tiles = bool(self._library.has_tiles())
        """Whether the processor multiplies tiles of bf16 (Intel AMX)."""

    def run(self, kernel: str, dtype: torch.dtype, *arguments: Tensor | float | int | None) -> None:
        """Call `<kernel>_<dtype>` with pointers to the contiguous tensors, the numbers, and the number of threads."""
        function = getattr(self._library, f"{kernel}_{NAMES[dtype]}")
        function(*map(_argument, arguments), ctypes.c_int64(torch.get_num_threads()))


def use_native_kernels(enabled: bool) -> None:
    """Whether this process uses the kernels, where it can; it does so from the beginning."""
    global _enabled
    _enabled = enabled


@contextmanager
def native_kernels(enabled: bool) -> Iterator[None]:
    """`use_native_kernels` for a while."""
    before = _enabled
    use_native_kernels(enabled)
    try:
        yield
    finally:
        use_native_kernels(before)


def native_kernels_found() -> str:
    """In words, whether this machine has the kernels; compiles them if it can."""
    library = _loaded()
    if library is None:
        return "of torch; install GCC (g++) on Linux for faster training on the CPU"
    return f"compiled for this processor{', with AMX tiles' if library.has_tiles else ''}"


def native_library(*tensors: Tensor) -> NativeLibrary | None:
    """The library, if it has kernels for all of `tensors`."""
    if not _enabled or torch.compiler.is_compiling():
        return None
    if not all(tensor.is_cpu and tensor.dtype in NAMES for tensor in tensors):
        return None
    return _loaded()


@functools.cache
def _loaded() -> NativeLibrary | None:
    """The library, compiled unless it was before; None where that is impossible."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if platform.system() != "Linux" or compiler is None or not _openmp_of_torch().exists():
        logger.debug("no kernels of litebert's own: they need Linux, GCC and a torch that brings OpenMP")
        return None
    try:
        path = _cache() / f"{_fingerprint(compiler)}.so"
        if not path.exists():
            start = time.perf_counter()
            _compile(compiler, path)
            logger.info("compiled kernels for this processor in %.0f s (%s)", time.perf_counter() - start, path)
        return NativeLibrary(path)
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[:1]
        logger.warning(
            "%s: cannot compile the kernels for this processor, so that steps take longer: %s", compiler, *reason
        )
        return None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "litebert"


def _flags() -> tuple[str, ...]:
    is_x86 = platform.machine() == "x86_64"
    capability = torch.backends.cpu.get_cpu_capability() if is_x86 else ""
    return (*FLAGS, f"-march={ARCHITECTURES.get(capability, 'native')}")


def _fingerprint(compiler: str) -> str:
    """Of all that the compiled library depends on."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True, timeout=_SECONDS)
    processor = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    described = [line for line in processor if line.split("\t")[0] in ("model name", "flags", "Features", "CPU part")]
    parts = [*(source.read_text() for source in sorted(SOURCES.iterdir())), version.stdout, *_flags(), *described]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _compile(compiler: str, path: Path) -> None:
    """Write the library to `path`; another process that does the same writes the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        run = functools.partial(
            subprocess.run, cwd=directory, check=True, capture_output=True, text=True, timeout=_SECONDS
        )
        run([compiler, *_flags(), "-c", *map(str, sorted(SOURCES.glob("*.cpp")))])
        # Without -fopenmp: the functions of OpenMP are those of torch, loaded before.
        run([compiler, "-shared", *sorted(each.name for each in Path(directory).glob("*.o")), "-o", "kernels.so"])
        (Path(directory) / "kernels.so").replace(path)


def _openmp_of_torch() -> Path:
    """The library of OpenMP in torch's wheels for Linux."""
    return Path(torch.__file__).parent / "lib" / "libgomp.so.1"


def _argument(value: Tensor | float | int | None) -> Any:
    if isinstance(value, Tensor):
        assert value.is_contiguous()
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, float):
        return ctypes.c_double(value)
    return None if value is None else ctypes.c_int64(value)
