"""Diagnosis of this machine: versions, devices, threads, memory, disk, measured matmul throughput."""

import importlib.util
import math
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from litebert.commands.result import Result
from litebert.device import gpu_precision
from litebert.files import free_space, readable_bytes
from litebert.machine import num_cores, package_version, processor_name, total_memory
from litebert.model import matmul_speed
from litebert.model.kernels.native.library import native_kernels_found
from litebert.model.matmul_speed import Use
from litebert.model.presets import preset
from litebert.settings import InferencePrecision

CORE = ("litebert", "torch", "numpy", "sentencepiece", "safetensors", "huggingface-hub", "pydantic", "tyro")
EXTRAS = {
    "data": ("pyarrow",),
    "datasets": ("datasets",),
    "datatrove": ("datatrove",),
    "eval": ("sklearn", "scipy"),
    "search": ("usearch",),
    "plot": ("matplotlib",),
    "serve": ("fastapi", "uvicorn", "prometheus_client"),
    "otel": (
        "opentelemetry.sdk",
        "opentelemetry.exporter.otlp.proto.http",
        "opentelemetry.instrumentation.fastapi",
    ),
    "pandas": ("pandas",),
    "notebook": ("ipywidgets",),
    "export": ("onnx", "onnxruntime"),
    "runtime": ("onnxruntime",),
    "ray": ("ray", "datatrove"),
    "hf": ("transformers", "tokenizers"),
    "tensorboard": ("tensorboard",),
    "wandb": ("wandb",),
    "trackio": ("trackio",),
}
COLUMNS: tuple[InferencePrecision, ...] = ("fp32", "bf16", "fp16", "int8")
LOW_DISK_BYTES = 2 * 1024**3
MATRIX_SIZE = 4096
"""Of the square products that are measured on a GPU."""
SECONDS = 0.3
"""To spend on them, for each precision."""
WIDTHS = preset("albert-base-v2")
"""Model whose products are measured on the processor."""


@dataclass(frozen=True)
class MatmulThroughput:
    """Measured throughput of matrix products on one device for one use, in GFLOP/s, and the precision that follows."""

    device: str
    use: Use | Literal["square"]
    """`training` and `inference`: the products of ALBERT-base on a processor; `square`: on a GPU."""
    gflops: dict[InferencePrecision, float]
    precision: InferencePrecision
    """What `precision: auto` stands for."""

    def to_text(self) -> str:
        """One row of the table."""
        cells = (f"{self.gflops[name]:10,.0f}" if name in self.gflops else f"{'–':>10}" for name in COLUMNS)
        return f"{self.device:<6}{self.use:<11}{''.join(cells)}  {self.precision}"


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
    kernels: str
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
            f"kernels    {self.kernels}",
            "versions   " + ", ".join(f"{name} {number}" for name, number in self.versions.items()),
            f"extras     {self._names(found=True)}; not installed: {self._names(found=False)}",
            f"GFLOP/s    {'':17}{''.join(f'{name:>10}' for name in COLUMNS)}  precision: auto",
            *(f"           {each.to_text()}" for each in self.matmul),
        ]
        return "\n".join([*lines, *(f"note       {line}" for line in self.advice)])

    def _names(self, *, found: bool) -> str:
        return ", ".join(name for name, is_found in self.extras.items() if is_found is found) or "none"


def doctor(directory: Path = Path()) -> Diagnosis:
    """Examine this machine, and the disk of `directory`; takes a few seconds and changes nothing."""
    free = free_space(directory)
    matmul = [*([_gpu_throughput()] if torch.cuda.is_available() else []), *_processor_throughput()]
    return Diagnosis(
        python=platform.python_version(),
        platform=platform.platform(),
        processor=processor_name(),
        versions={name: package_version(name) for name in CORE},
        extras={name: all(map(_is_installed, modules)) for name, modules in EXTRAS.items()},
        cores=num_cores(),
        threads=torch.get_num_threads(),
        memory_bytes=total_memory(),
        disk_free_bytes=free,
        devices=[*(f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())), "cpu"],
        kernels=native_kernels_found(),
        matmul=matmul,
        advice=_advice(matmul, free),
    )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that the module is in
        return False


def _processor_throughput() -> list[MatmulThroughput]:
    training = matmul_speed.measure_matmul_speed(WIDTHS, "training")
    inference = matmul_speed.measure_matmul_speed(WIDTHS, "inference", extra=("int8",))
    return [
        MatmulThroughput("cpu", "training", dict(training.gflops), training.fastest),
        MatmulThroughput("cpu", "inference", dict(inference.gflops), inference.fastest),
    ]


def _gpu_throughput() -> MatmulThroughput:
    gflops: dict[InferencePrecision, float] = {"fp32": _gflops(torch.float32), "bf16": _gflops(torch.bfloat16)}
    return MatmulThroughput("cuda", "square", gflops, gpu_precision())


def _gflops(dtype: torch.dtype) -> float:
    """GFLOP/s of the fastest of the products that fit into `SECONDS`."""
    matrix = torch.ones(MATRIX_SIZE, MATRIX_SIZE, dtype=dtype, device="cuda")
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        matrix @ matrix
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - before)
    return 2 * MATRIX_SIZE**3 / best / 1e9


def _advice(matmul: list[MatmulThroughput], disk_free: int) -> list[str]:
    slow = [each for each in matmul if each.gflops.get("bf16", math.inf) < each.gflops.get("fp32", 0)]
    advice = [
        f"bf16 is {each.gflops['fp32'] / each.gflops['bf16']:.1f} times slower than fp32 for {each.use} on "
        f"{each.device}: use precision auto or fp32 where a recipe says bf16"
        for each in slow
    ]
    if disk_free < LOW_DISK_BYTES:
        advice.append("less than 2 GiB of disk free: checkpoints and corpora may not fit")
    if "OMP_NUM_THREADS" in os.environ:
        advice.append(f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']} limits torch's threads")
    return advice
