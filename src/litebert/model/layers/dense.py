"""Dense layers of a block: their shapes, their product with low-rank updates, and the dtype of that product."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from litebert.model.config import ModelConfig


def dense_shapes(config: ModelConfig) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of each dense layer of a block, by name."""
    H, inner = config.hidden_size, config.intermediate_size
    attention = dict.fromkeys(("query", "key", "value", "output"), (H, H))
    gate = {"gate": (H, inner)} if config.gated_feed_forward else {}
    return {**attention, "up": (H, inner), **gate, "down": (inner, H)}


def apply_dense(
    dense: Any, x: Float[Tensor, "*rows inputs"], update: Float[Tensor, "outputs inputs"] | None
) -> Float[Tensor, "*rows outputs"]:
    """Outputs of `nn.Linear` or of a dense layer with a LoRA adapter, after `update` is added to its weight."""
    return dense(x) if update is None else F.linear(x, dense.weight + update, dense.bias)


def to_autocast_dtype(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`x`, cast once; autocast would cast it, and store the copy, for each product that reads it."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x
