"""Mixed precision of a forward pass."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from litebert.errors import ConfigError
from litebert.settings import InferencePrecision


def gpu_computes_bf16() -> bool:
    """Whether the GPU has bf16 instructions; without them, before Ampere, torch emulates it slowly."""
    import torch

    return torch.cuda.is_bf16_supported(including_emulation=False)


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
