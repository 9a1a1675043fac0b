"""Products with the dense layers of a block: low-rank updates of the weight, and the dtype."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def apply_dense(
    dense: Any, x: Float[Tensor, "*rows inputs"], update: Float[Tensor, "outputs inputs"] | None
) -> Float[Tensor, "*rows outputs"]:
    """Outputs of `nn.Linear` or of a dense layer with a LoRA adapter, after `update` is added to its weight."""
    return dense(x) if update is None else F.linear(x, dense.weight + update, dense.bias)


def to_autocast_dtype(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`x`, cast once; autocast would cast it, and store the copy, for each product that reads it."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x
