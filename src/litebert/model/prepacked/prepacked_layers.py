"""The layers of a block for inference on a CPU, from those of a model; `Encoder` runs them as it runs its own.

The residual stream and every LayerNorm stay in fp32; the operands of products are in the precision of inference.
"""

from collections.abc import Callable
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.config import Activation
from litebert.model.layers.block import NO_UPDATES, Attention, BlockInputs, FeedForward, WeightUpdates

Dense = Callable[..., Any]
"""Makes a prepacked dense layer of (weight, bias), and `activation` or `dtype`."""
CHUNK: Final = 3 * 2**19
"""Largest number of fp32 values between a product of int8 and the operators after it, 512 rows of 3,072: 6 MiB, which
stay in the cache. In other precisions one operator computes a product and its activation, and chunks cost time."""


class PrepackedAttention(nn.Module):
    """`Attention`, with `updates` and adapters added to its weights; `project` makes queries, keys and values."""

    def __init__(
        self,
        attention: Attention,
        dense: Dense,
        updates: WeightUpdates = NO_UPDATES,
        *,
        project: Dense,
        chunked: bool = False,
    ) -> None:
        super().__init__()
        self.query_key_value = project(*attention.fused_qkv(updates))
        self.chunked = chunked
        self.output = dense(*_weight_and_bias(attention.output, updates.get("output")))
        self.norm = attention.norm
        self.norm_first = attention.norm_first
        self.heads = attention.heads

    def forward(self, x: Float[Tensor, "1 N H"], inputs: BlockInputs) -> Float[Tensor, "1 N2 H"]:
        """As `Attention.forward`."""
        read = self.norm.for_products(x, self.query_key_value.input_dtype) if self.norm_first else x
        width = 3 * x.shape[-1]
        projected = in_chunks(self.query_key_value, read, width=width) if self.chunked else self.query_key_value(read)
        projected = projected.unflatten(-1, (3, *self.heads))  # 1 N 3 A D
        context = inputs.layout.attend(projected, inputs.rotation, dropout=0.0).flatten(2)
        if inputs.positions is not None:
            x, context = inputs.layout.take(x, inputs.positions), inputs.layout.take(context, inputs.positions)
        x = self.output.plus(context, x)
        return x if self.norm_first else self.norm(x)


class PrepackedFeedForward(nn.Module):
    """`FeedForward`, with `updates` and adapters added to its weights."""

    def __init__(
        self,
        feed_forward: FeedForward,
        dense: Dense,
        activation: Activation,
        updates: WeightUpdates = NO_UPDATES,
        *,
        chunked: bool = False,
    ) -> None:
        super().__init__()
        gate, up = feed_forward.gate, _weight_and_bias(feed_forward.up, updates.get("up"))
        self.up = dense(*up, activation=activation if gate is None else None)
        gated = None if gate is None else _weight_and_bias(gate, updates.get("gate"))
        self.gate = None if gated is None else dense(*gated, activation=activation)
        self.width = up[0].shape[0] if chunked else None
        self.down = dense(*_weight_and_bias(feed_forward.down, updates.get("down")))
        self.norm = feed_forward.norm
        self.norm_first = feed_forward.norm_first

    def forward(self, x: Float[Tensor, "B S H"], updates: WeightUpdates = NO_UPDATES) -> Float[Tensor, "B S H"]:
        """As `FeedForward.forward`; `updates` are already in the weights."""
        return self._rows(x) if self.width is None else in_chunks(self._rows, x, width=self.width)

    def _rows(self, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S H"]:
        read = self.norm.for_products(x, self.up.input_dtype) if self.norm_first else x
        inner = self.up(read) if self.gate is None else self.gate(read).mul_(self.up(read))
        x = self.down.plus(inner, x)
        return x if self.norm_first else self.norm(x)


def in_chunks(
    function: Callable[[Tensor], Tensor], x: Float[Tensor, "B S H"], *, width: int
) -> Float[Tensor, "B S outputs"]:
    """`function` of each row of `x`, in chunks of rows that have at most `CHUNK` intermediate values, `width` each."""
    rows = x.flatten(0, 1)
    chunk = max(1, CHUNK // width)
    if len(rows) <= chunk:
        return function(x)
    return torch.cat([function(part[None])[0] for part in rows.split(chunk)]).view(*x.shape[:2], -1)


def _weight_and_bias(dense: Any, update: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Of `nn.Linear` or of a dense layer with a LoRA adapter, whose weight has the adapter in it."""
    return dense.weight if update is None else dense.weight + update, dense.bias
