"""Mixed precision: autocast of the forward, and scaling of fp16 gradients."""

from contextlib import AbstractContextManager, nullcontext

import torch

from litebert.errors import ConfigError
from litebert.settings import TrainingPrecision

_DTYPES: dict[TrainingPrecision, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(precision: TrainingPrecision, device: torch.device) -> AbstractContextManager[object]:
    """Context of a forward: matrix products in `precision`, sums and norms in fp32.

    Raises ConfigError for `auto`, which the commands replace by what they measured.
    """
    if precision == "auto":
        raise ConfigError("precision: 'auto' is resolved by `pretrain` and `finetune`; give fp32, bf16 or fp16 here")
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=_DTYPES[precision])


def gradient_scaler(precision: TrainingPrecision, device: torch.device) -> torch.amp.GradScaler:
    """A scaler that keeps small fp16 gradients from underflow; disabled for the other precisions."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
