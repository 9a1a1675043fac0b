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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

SOURCES: Final = Path(__file__).parent / "sources"
COMPILER: Final = "g++"
FLAGS: Final = ("-O3", "-std=c++17", "-fPIC", "-fopenmp")
ARCHITECTURES: Final = {"AVX2": ("-mavx2", "-mfma", "-mf16c", "-mbmi2"), "DEFAULT": ()}
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
        self._functions: dict[tuple[str, torch.dtype], Callable[..., None]] = {}
        self.has_tiles = bool(self._library.has_tiles())
        """Whether the processor multiplies tiles of bf16 (Intel AMX)."""
        self.has_bfloat16_products = bool(self._library.has_bfloat16_products())
        """Whether it multiplies bf16 at all: tiles, or pairs in vectors (AVX512-BF16)."""
        self.panel_width = int(self._library.panel_width())
        """Columns that products of floats compute at once."""

    def run(self, kernel: str, dtype: torch.dtype, *arguments: Tensor | float | int | None) -> None:
        """Call `<kernel>_<dtype>` with pointers to the contiguous tensors, the numbers, and the number of threads."""
        function = self._functions.get((kernel, dtype)) or self._declared(kernel, dtype, arguments)
        function(*map(_value, arguments), torch.get_num_threads())

    def _declared(self, kernel: str, dtype: torch.dtype, arguments: Sequence[Any]) -> Callable[..., None]:
        """The function with the types of these arguments: declared, they are converted in a third of the time."""
        function = getattr(self._library, f"{kernel}_{NAMES[dtype]}")
        function.argtypes = [*map(_type, arguments), ctypes.c_int64]
        function.restype = None
        self._functions[kernel, dtype] = function
        return function


def use_native_kernels(*, enabled: bool) -> None:
    """Whether this process uses the kernels, where it can; it does so from the beginning.

    Without them a function can be differentiated twice.
    """
    global _enabled
    _enabled = enabled


@contextmanager
def native_kernels(*, enabled: bool) -> Iterator[None]:
    """`use_native_kernels` for a while."""
    before = _enabled
    use_native_kernels(enabled=enabled)
    try:
        yield
    finally:
        use_native_kernels(enabled=before)


def native_kernels_found() -> str:
    """In words, whether this machine has the kernels; compiles them if it can."""
    found = _loaded()
    if isinstance(found, str):
        return f"of torch, with which training and prediction on the CPU take longer: {found}"
    if found.has_tiles:
        return "compiled for this processor, with AMX tiles"
    return f"compiled for this processor{', with vectors of bf16' if found.has_bfloat16_products else ''}"


def native_library(*tensors: Tensor) -> NativeLibrary | None:
    """The library, if it has kernels for all of `tensors` and nothing traces or transforms what is computed."""
    if not _enabled or _is_traced() or not all(_has_kernels(tensor) for tensor in tensors):
        return None
    found = _loaded()
    return None if isinstance(found, str) else found


def _has_kernels(tensor: Tensor) -> bool:
    return type(tensor) in (Tensor, nn.Parameter) and tensor.is_cpu and tensor.dtype in NAMES


def _is_traced() -> bool:
    """Whether torch compiles, exports or transforms (`torch.func`), or a mode looks at each of its operators."""
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
    )


@functools.cache
def _loaded() -> NativeLibrary | str:
    """The library, compiled unless it was before, or why there is none."""
    compiler = shutil.which(COMPILER)
    if platform.system() != "Linux" or compiler is None:
        return "install GCC (g++), on Linux"
    if not _openmp_of_torch().exists():
        return f"this torch does not bring {_openmp_of_torch().name}"
    try:
        return _library(compiler, _cache() / f"{_fingerprint(compiler)}.so")
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
        output = [line for line in (getattr(error, "stderr", None) or "").splitlines() if line.strip()]
        reason = next((line for line in output if "error:" in line), output[0] if output else str(error))
        logger.warning(
            "%s: cannot compile kernels for this processor, training and prediction take longer: %s", compiler, reason
        )
        return reason


def _library(compiler: str, path: Path) -> NativeLibrary:
    """That of `path`, compiled first if there is none that can be loaded."""
    try:
        return NativeLibrary(path)
    except OSError:  # not there, or not whole
        start = time.perf_counter()
        _compile(compiler, path)
        logger.info("compiled kernels for this processor in %.0f s (%s)", time.perf_counter() - start, path)
        return NativeLibrary(path)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "litebert"


def _flags() -> tuple[str, ...]:
    is_x86 = platform.machine() == "x86_64"
    capability = torch.backends.cpu.get_cpu_capability() if is_x86 else ""
    return (*FLAGS, *ARCHITECTURES.get(capability, ("-march=native",)))


def _fingerprint(compiler: str) -> str:
    """Of all that the compiled library depends on."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True, timeout=_SECONDS)
    processor = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    described = [line for line in processor if line.split("\t")[0] in ("model name", "flags", "Features", "CPU part")]
    sources = [source.read_bytes() for source in sorted(SOURCES.iterdir())]
    parts = [*sources, version.stdout, *(each.encode() for each in (*_flags(), *described))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _compile(compiler: str, path: Path) -> None:
    """Write the library to `path`; another process that does the same writes the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        run = functools.partial(
            subprocess.run,
            cwd=directory,
            check=True,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
        run([compiler, *_flags(), "-c", *map(str, sorted(SOURCES.glob("*.cpp")))])
        # Without -fopenmp: the functions of OpenMP are those of torch, loaded before.
        run([compiler, "-shared", *sorted(each.name for each in Path(directory).glob("*.o")), "-o", "kernels.so"])
        (Path(directory) / "kernels.so").replace(path)


def _openmp_of_torch() -> Path:
    """The library of OpenMP in torch's wheels for Linux."""
    return Path(torch.__file__).parent / "lib" / "libgomp.so.1"


def _type(value: Tensor | float | int | None) -> Any:
    """Every kernel has each of its numbers in one of both types, and null or a tensor for a pointer."""
    if isinstance(value, int):
        return ctypes.c_int64
    return ctypes.c_double if isinstance(value, float) else ctypes.c_void_p


def _value(value: Tensor | float | int | None) -> float | int | None:
    if not isinstance(value, Tensor):
        return value
    if not value.is_contiguous():
        raise ValueError(f"a tensor of shape {tuple(value.shape)} and strides {value.stride()}: not contiguous")
    return value.data_ptr()
