"""Mixed precision of a forward pass."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from litebert.settings import Precision


def autocast(precision: Precision, device: Any) -> AbstractContextManager[object]:
    """Context of a forward on a `torch.device`: matrix products in `precision`, sums and norms in fp32."""
    import torch

    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16 if precision == "bf16" else torch.float16)
