"""What the operating system reports about this machine and process: processor, memory, versions, source commit."""

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from litebert.errors import ConfigError

PACKAGES = ("litebert", "torch", "numpy", "sentencepiece", "safetensors")
MOST_PROCESSES_PER_CORE = 32
"""Of one command; each loads torch, which takes 0.1 GB or more."""


def environment() -> dict[str, Any]:
    """Versions, machine, commit and command line: what is needed to reproduce a result."""
    return {
        "command": " ".join(sys.argv),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor_name(),
        "packages": {name: package_version(name) for name in PACKAGES},
        "commit": source_commit(),
    }


def package_version(name: str) -> str:
    """Version of an installed package, or "missing" (also for litebert if it runs from a source tree)."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def processor_name() -> str:
    """The processor's model name, or its architecture if the system does not report a name."""
    return _proc_field("cpuinfo", "model name") or platform.processor() or platform.machine()


def num_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def validate_processes(count: int, *, where: str) -> None:
    """Raise ConfigError for fewer than one process, or for so many that the machine would only swap."""
    most = MOST_PROCESSES_PER_CORE * num_cores()
    if not 1 <= count <= most:
        raise ConfigError(f"{where}: expected 1 to {most}, {MOST_PROCESSES_PER_CORE} for each core, found {count}")


def has_bf16_instructions() -> bool | None:
    """Whether the processor multiplies bf16 numbers itself, or None if the system does not report it."""
    flags = _proc_field("cpuinfo", "(?:flags|Features)")
    return None if flags is None else not {"amx_bf16", "avx512_bf16", "bf16"}.isdisjoint(flags.split())


def total_memory() -> int | None:
    """Bytes of main memory, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def available_memory() -> int | None:
    """Bytes of main memory that are available, or None if the system does not report it."""
    return _proc_bytes("meminfo", "MemAvailable")


def process_memory() -> int:
    """Bytes of main memory that this process holds; 0 if the system does not report it."""
    return _proc_bytes("self/status", "VmRSS") or 0


def peak_process_memory() -> int:
    """The largest `process_memory` since `reset_peak_process_memory`; 0 if the system does not report it."""
    return _proc_bytes("self/status", "VmHWM") or 0


def reset_peak_process_memory() -> None:
    """Start the measurement of `peak_process_memory` again, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def source_commit(package: Path = Path(__file__).parent) -> str | None:
    """Commit of litebert's own git checkout; None if it is installed, even inside another project's checkout."""
    checkout = package.parent.parent  # CHECKOUT/src/litebert
    if package.parent.name != "src" or not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _proc_bytes(file: str, field: str) -> int | None:
    """Bytes in a line such as `MemAvailable:  123 kB`."""
    value = _proc_field(file, field)
    return int(value.split()[0]) * 1024 if value else None


def _proc_field(file: str, field: str) -> str | None:
    """The value of the first line `field: value` in a file below /proc; `field` is a regular expression."""
    with suppress(OSError):
        content = (Path("/proc") / file).read_text(encoding="utf-8", errors="replace")
        found = re.search(rf"^{field}\s*:[ \t]*(.*)$", content, re.MULTILINE)
        return found[1].strip() if found else None
    return None
