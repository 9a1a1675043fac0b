"""Mixed precision: autocast of the forward, and scaling of fp16 gradients."""

from contextlib import AbstractContextManager, nullcontext

import torch

from litebert.settings import Precision

_DTYPES: dict[Precision, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Context of a forward: matrix products in `precision`, sums and norms in fp32."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=_DTYPES[precision])


def gradient_scaler(precision: Precision, device: torch.device) -> torch.amp.GradScaler:
    """A scaler that keeps small fp16 gradients from underflow; disabled for the other precisions."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
