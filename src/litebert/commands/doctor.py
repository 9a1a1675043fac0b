"""What this machine offers and what is amiss: versions, devices, threads, memory, disk, a measured matrix rate.

Before: nothing. After: a person who asks why something is slow or missing.
"""

import importlib.util
import os
import platform
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from litebert.commands.result import Result
from litebert.commands.run_directory import package_version, processor_name

CORE = ("litebert", "torch", "numpy", "sentencepiece", "safetensors", "huggingface-hub", "pydantic", "tyro")
EXTRAS = {
    "eval": ("sklearn", "scipy"),
    "plot": ("matplotlib",),
    "hf": ("transformers", "tokenizers"),
    "tensorboard": ("tensorboard",),
    "wandb": ("wandb",),
}
LOW_DISK_BYTES = 2 * 1024**3
MATRIX_SIZE = 1024


@dataclass(frozen=True)
class Diagnosis(Result):
    """What `litebert doctor` found; rates in GFLOP/s, sizes in bytes."""

    python: str
    platform: str
    processor: str
    versions: dict[str, str]
    extras: dict[str, bool]
    cores: int
    threads: int
    memory_bytes: int | None
    disk_free_bytes: int
    devices: list[str]
    matmul_fp32: float
    matmul_bf16: float
    advice: list[str]

    def to_text(self) -> str:
        """The diagnosis for a person."""
        gib = 1024**3
        memory = f"{self.memory_bytes / gib:.1f} GiB" if self.memory_bytes else "unknown"
        lines = [
            f"python     {self.python} on {self.platform}",
            f"processor  {self.processor}: {self.cores} cores, torch uses {self.threads} threads",
            f"memory     {memory}",
            f"disk       {self.disk_free_bytes / gib:.1f} GiB free here",
            f"devices    {', '.join(self.devices)}",
            f"matmul     {self.matmul_fp32:.0f} GFLOP/s in fp32, {self.matmul_bf16:.0f} in bf16",
            "versions   " + ", ".join(f"{name} {number}" for name, number in self.versions.items()),
            "extras     " + ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in self.extras.items()),
        ]
        return "\n".join([*lines, *(f"note       {line}" for line in self.advice)])


def doctor(directory: Path = Path()) -> Diagnosis:
    """Look at this machine; `directory` is the place whose disk counts. Takes a few seconds, changes nothing."""
    fp32, bf16 = (_matmul_rate(dtype) for dtype in (torch.float32, torch.bfloat16))
    free = shutil.disk_usage(directory).free
    return Diagnosis(
        python=platform.python_version(),
        platform=platform.platform(),
        processor=processor_name(),
        versions={name: package_version(name) for name in CORE},
        extras={name: all(importlib.util.find_spec(module) for module in modules) for name, modules in EXTRAS.items()},
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        memory_bytes=_memory_bytes(),
        disk_free_bytes=free,
        devices=_devices(),
        matmul_fp32=fp32,
        matmul_bf16=bf16,
        advice=_advice(fp32, bf16, free),
    )


def _devices() -> list[str]:
    gpus = [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return [*gpus, "cpu"]


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _matmul_rate(dtype: torch.dtype, *, seconds: float = 0.3) -> float:
    """GFLOP/s of square matrix products on the CPU, the best of the products that fit into `seconds`."""
    matrix = torch.ones(MATRIX_SIZE, MATRIX_SIZE, dtype=dtype)
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < seconds:
        before = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - before)
    return 2 * MATRIX_SIZE**3 / best / 1e9


def _advice(fp32: float, bf16: float, disk_free: int) -> list[str]:
    advice = []
    if bf16 < fp32:
        advice.append("bf16 is slower than fp32 on this processor: use train.precision=fp32")
    if disk_free < LOW_DISK_BYTES:
        advice.append("less than 2 GiB of disk free: checkpoints and corpora may not fit")
    if "OMP_NUM_THREADS" in os.environ:
        advice.append(f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']} limits torch's threads")
    return advice
