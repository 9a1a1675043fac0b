"""Whether models and tensors are sharded by FSDP.

Its modules take a second to import, as long as half of torch, so they are imported when a model is sharded.
"""

import sys
from typing import TYPE_CHECKING

from torch import Tensor, nn

if TYPE_CHECKING:
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.tensor import DTensor
    from typing_extensions import TypeIs


def is_sharded(model: nn.Module) -> "TypeIs[FSDPModule]":  # pyrefly: ignore[bad-function-definition]
    """Whether `distribute_model` sharded `model`."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    return fsdp is not None and isinstance(model, fsdp.FSDPModule)


def is_shard(value: Tensor) -> "TypeIs[DTensor]":
    """Whether `value` is a parameter, gradient or norm of a sharded model."""
    tensors = sys.modules.get("torch.distributed.tensor")
    return tensors is not None and isinstance(value, tensors.DTensor)
