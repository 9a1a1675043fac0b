"""Mixed precision of a forward pass; torch is imported where it is used."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from litebert.settings import Precision

if TYPE_CHECKING:
    import torch


def autocast(precision: Precision, device: "torch.device") -> AbstractContextManager[object]:
    """Context of a forward: matrix products in `precision`, sums and norms in fp32."""
    import torch

    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16 if precision == "bf16" else torch.float16)
