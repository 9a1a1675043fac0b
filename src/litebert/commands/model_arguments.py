"""How the models of a command run. Imports no torch, so that wrong settings are refused at once."""

from typing import Self

from pydantic import Field, model_validator

from litebert.device import validate_device_computes
from litebert.settings import MAX_THREADS, DeviceName, InferencePrecision, Settings


class ModelArguments(Settings):
    """How the models of a command that predicts run."""

    precision: InferencePrecision = "fp32"
    """Arithmetic of a model: `fp32`, `bf16`, `fp16`, `auto` (the fastest of these, measured), or on CPUs `int8`."""
    device: DeviceName = "auto"
    """Where a model runs: `cpu`, `cuda`, or `auto`, a CUDA device if there is one (not for int8)."""
    threads: int | None = Field(default=None, gt=0, le=MAX_THREADS)
    """Threads of torch, or of onnxruntime for an export directory (default: their choice)."""

    @model_validator(mode="after")
    def _check_device(self) -> Self:
        validate_device_computes(self.device, self.precision)
        return self


def set_threads(threads: int | None) -> None:
    """Set the threads of torch for the whole process; None leaves them as they are."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
