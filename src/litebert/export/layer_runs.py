"""Which stored block each layer runs, as runs of equal layers: each becomes one loop of the graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from litebert.export.weight_formats import to_numpy
from litebert.model.encoder import Encoder
from litebert.model.layers.lora import LoRALinear, is_adapter

Updates = dict[str, tuple[np.ndarray, np.ndarray]]
"""Name of a dense layer → A [R, inputs] and B [outputs, R] of its low-rank update."""


@dataclass(frozen=True)
class Block:
    """A block that runs: its stored weights, and its own low-rank updates."""

    attention: Any
    feed_forward: Any
    updates: Updates

    @property
    def stored(self) -> list[int]:
        """The same for blocks with the same stored parameters."""
        parameters = (*self.attention.named_parameters(), *self.feed_forward.named_parameters())
        return [id(parameter) for name, parameter in parameters if not is_adapter(name)]


@dataclass(frozen=True)
class LayerRun:
    """Consecutive layers that run the same stored blocks."""

    start: int
    """Index of the first layer."""
    layers: Sequence[Sequence[Block]]
    """The blocks of each layer."""


def layer_runs(encoder: Encoder) -> list[LayerRun]:
    """The layers of an encoder: one run for ALBERT, one for each group, or one for each layer of BERT."""
    inner = encoder.config.inner_group_num
    blocks = [_block(encoder, position) for position in range(len(encoder.schedule))]
    layers = [blocks[start : start + inner] for start in range(0, len(blocks), inner)]
    runs, start = [], 0
    for _, same in groupby(layers, key=lambda layer: [block.stored for block in layer]):
        run = list(same)
        runs.append(LayerRun(start, run))
        start += len(run)
    return runs


def without_adapter(layer: Any) -> Any:
    """A dense layer without its adapter."""
    return layer.dense if isinstance(layer, LoRALinear) else layer


def _block(encoder: Encoder, position: int) -> Block:
    attention, feed_forward = encoder.schedule[position]
    modules = (encoder.attentions[attention], encoder.feed_forwards[feed_forward])
    recursion: Any = encoder.recursion_lora[position] if encoder.recursion_lora else {}
    updates = {name: (to_numpy(update.a), to_numpy(update.b)) for name, update in recursion.items()}
    for module in modules:
        for name, layer in module.named_children():
            if isinstance(layer, LoRALinear):
                updates[name] = _sum(updates.get(name), (to_numpy(layer.lora_a), to_numpy(layer.lora_b) * layer.scale))
    return Block(*modules, updates)


def _sum(
    first: tuple[np.ndarray, np.ndarray] | None, second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The factors of a sum of two updates B A."""
    if first is None:
        return second
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]], axis=1)
