"""Arithmetic of the forward and backward. Before: fp32 weights, which stay so. After: `step.py` runs inside it."""

from contextlib import AbstractContextManager, nullcontext

import torch

from litebert.training.train_settings import Precision

_LOW: dict[Precision, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Matrix products in `precision`, sums and norms in fp32, for the forward inside it."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=_LOW[precision])


def gradient_scaler(precision: Precision, device: torch.device) -> torch.amp.GradScaler:
    """Keeps small fp16 gradients from vanishing; does nothing in the other precisions."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
