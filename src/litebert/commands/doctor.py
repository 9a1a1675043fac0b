"""Diagnosis of this machine: versions, devices, threads, memory, disk, measured matmul throughput."""

import importlib.util
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from litebert.commands.result import Result
from litebert.files import free_space, readable_bytes
from litebert.machine import num_cores, package_version, processor_name, total_memory

CORE = ("litebert", "torch", "numpy", "sentencepiece", "safetensors", "huggingface-hub", "pydantic", "tyro")
EXTRAS = {
    "eval": ("sklearn", "scipy"),
    "plot": ("matplotlib",),
    "hf": ("transformers", "tokenizers"),
    "tensorboard": ("tensorboard",),
    "wandb": ("wandb",),
}
LOW_DISK_BYTES = 2 * 1024**3
MATRIX_SIZES = {"cpu": 1024, "cuda": 4096}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class MatmulThroughput:
    """Measured throughput of square matrix products on one device, in GFLOP/s."""

    device: str
    fp32: float
    bf16: float

    @property
    def fastest_precision(self) -> str:
        """Value of `train.precision` that trains fastest here, as far as matrix products decide."""
        return "bf16" if self.bf16 > self.fp32 else "fp32"


@dataclass(frozen=True)
class Diagnosis(Result):
    """The result of `litebert doctor`; sizes in bytes."""

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
    matmul: list[MatmulThroughput]
    advice: list[str]

    def to_text(self) -> str:
        """The diagnosis for a person."""
        memory = readable_bytes(self.memory_bytes) if self.memory_bytes else "unknown"
        lines = [
            f"python     {self.python} on {self.platform}",
            f"processor  {self.processor}: {self.cores} cores, torch uses {self.threads} threads",
            f"memory     {memory}",
            f"disk       {readable_bytes(self.disk_free_bytes)} free here",
            f"devices    {', '.join(self.devices)}",
            "versions   " + ", ".join(f"{name} {number}" for name, number in self.versions.items()),
            "extras     " + ", ".join(f"{name} {'yes' if found else 'no'}" for name, found in self.extras.items()),
            "matmul     device      fp32 GFLOP/s  bf16 GFLOP/s  use train.precision",
            *(
                f"           {each.device:<10}{each.fp32:>14,.0f}{each.bf16:>14,.0f}  {each.fastest_precision}"
                for each in self.matmul
            ),
        ]
        return "\n".join([*lines, *(f"note       {line}" for line in self.advice)])


def doctor(directory: Path = Path()) -> Diagnosis:
    """Examine this machine, and the disk of `directory`; takes a few seconds and changes nothing."""
    free = free_space(directory)
    matmul = [_matmul_throughput(device) for device in (["cuda", "cpu"] if torch.cuda.is_available() else ["cpu"])]
    return Diagnosis(
        python=platform.python_version(),
        platform=platform.platform(),
        processor=processor_name(),
        versions={name: package_version(name) for name in CORE},
        extras={name: all(importlib.util.find_spec(module) for module in modules) for name, modules in EXTRAS.items()},
        cores=num_cores(),
        threads=torch.get_num_threads(),
        memory_bytes=total_memory(),
        disk_free_bytes=free,
        devices=_devices(),
        matmul=matmul,
        advice=_advice(matmul, free),
    )


def _devices() -> list[str]:
    gpus = [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return [*gpus, "cpu"]


def _matmul_throughput(device: str) -> MatmulThroughput:
    return MatmulThroughput(device, **{name: _gflops(dtype, device) for name, dtype in DTYPES.items()})


def _gflops(dtype: torch.dtype, device: str, *, seconds: float = 0.3) -> float:
    """GFLOP/s of the fastest of the products that fit into `seconds`."""
    size = MATRIX_SIZES[device]
    matrix = torch.ones(size, size, dtype=dtype, device=device)
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < seconds:
        before = time.perf_counter()
        matrix @ matrix
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - before)
    return 2 * size**3 / best / 1e9


def _advice(matmul: list[MatmulThroughput], disk_free: int) -> list[str]:
    slow = [each for each in matmul if each.bf16 < each.fp32]
    advice = [
        f"bf16 is {each.fp32 / each.bf16:.1f} times slower than fp32 on {each.device}: add train.precision=fp32 to "
        "commands whose recipe says bf16"
        for each in slow
    ]
    if disk_free < LOW_DISK_BYTES:
        advice.append("less than 2 GiB of disk free: checkpoints and corpora may not fit")
    if "OMP_NUM_THREADS" in os.environ:
        advice.append(f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']} limits torch's threads")
    return advice
