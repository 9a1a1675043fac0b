"""Where a model runs and in which precision, for training and for prediction."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from litebert.errors import ConfigError
from litebert.settings import InferencePrecision

if TYPE_CHECKING:
    import torch


def usable_device(device: "str | torch.device", precision: InferencePrecision = "fp32") -> str:
    """`resolve_device`, with a ConfigError for a device that torch does not find, or that does not compute int8."""
    import torch

    device = str(device)
    resolved = resolve_device(device, precision)
    try:
        found = torch.device(resolved)
    except RuntimeError:
        raise ConfigError(f"device: unknown {device!r}; expected auto, cpu, cuda or cuda:N") from None
    if found.type not in ("cpu", "cuda"):
        raise ConfigError(f"device: {device!r}; expected auto, cpu, cuda or cuda:N")
    if found.type == "cuda" and (found.index or 0) >= (count := torch.cuda.device_count()):
        raise ConfigError(f"device: {device!r} was asked for, but torch finds {count} CUDA devices; use cpu or auto")
    validate_device_computes(resolved, precision)
    return resolved


def resolve_device(device: str, precision: InferencePrecision) -> str:
    """`device`, or for `auto` `cuda` if torch finds a CUDA device, `cpu` without one and for int8."""
    import torch

    if device != "auto":
        return device
    return "cuda" if precision != "int8" and torch.cuda.is_available() else "cpu"


def validate_device_computes(device: str, precision: InferencePrecision | None) -> None:
    """Raise ConfigError for int8 on a CUDA device."""
    if device.startswith("cuda") and precision == "int8":
        raise ConfigError(f"device: {device!r}, but int8 is computed on processors; use cpu or auto, or precision bf16")


def gpu_precision() -> InferencePrecision:
    """What `auto` is on the GPU: bf16 where it has instructions for it; before Ampere, torch emulates them slowly."""
    import torch

    return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"


def validate_chosen(precision: str) -> None:
    """Raise ConfigError for `auto`, which commands and `Predictor` replace by what they measured, and for int8."""
    if precision in ("auto", "int8"):
        raise ConfigError(f"precision: expected fp32, bf16 or fp16 here, found {precision}; choose one of them")


def autocast(precision: InferencePrecision, device: Any) -> AbstractContextManager[object]:
    """Context of a forward on a `torch.device`: matrix products in `precision`, sums and norms in fp32.

    Raises ConfigError for `auto`, which commands and `Predictor` replace by what they measured, and for int8.
    """
    import torch

    validate_chosen(precision)
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16 if precision == "bf16" else torch.float16)
