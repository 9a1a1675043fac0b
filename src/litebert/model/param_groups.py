"""Groups of parameters for fine-tuning, by name: frozen parts, and the depth of each layer."""

from collections.abc import Mapping
from typing import Final

from torch import nn

from litebert.model.encoder import Encoder, encoder_of
from litebert.model.layers.lora import is_adapter
from litebert.model.layers.lora_settings import Freeze
from litebert.model.sharing_schedule import Schedule, sharing_schedule

_EMBEDDINGS: Final = ("encoder.embeddings.", "encoder.projection.")
_BLOCKS: Final = ("encoder.attentions.", "encoder.feed_forwards.")
_AFTER_BLOCKS: Final = "encoder.final_norm."
_RECURSION: Final = "encoder.recursion_lora."
_FROZEN: Final[dict[Freeze, tuple[str, ...]]] = {
    "nothing": (),
    "embeddings": _EMBEDDINGS,
    "all_but_pooler": (*_EMBEDDINGS, *_BLOCKS, _AFTER_BLOCKS, _RECURSION),
    "encoder": ("encoder.",),
}


def freeze(model: nn.Module, parts: Freeze) -> None:
    """Freeze these parts of `model` and unfreeze all others; adapters are never frozen."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(is_adapter(name) or not name.startswith(_FROZEN[parts]))


def count_parameters(model: nn.Module) -> tuple[int, int]:
    """Number of trained parameters, and of all."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)


def layer_depths(model: nn.Module) -> dict[str, int]:
    """Depth of each parameter below the head: 0 for head and pooler, of the weights largest for the embeddings.

    A stored block, with its low-rank updates, has the depth of the last layer that runs it. Without sharing the layers
    have depths 1, 2, … from the top down; a block that all layers share has depth 1; an attention shared by all layers
    has the depth of the top feed-forward. Per-layer adapters have the depths of their layers.
    """
    encoder = encoder_of(model)
    stored_schedule = sharing_schedule(encoder.config)
    adapters, stored = (_block_depths(encoder, schedule) for schedule in (encoder.schedule, stored_schedule))
    # With per-layer adapters each layer has a block of its own, whose weights are those of a stored block.
    blocks = {
        f"{part}{block}.": stored[f"{part}{stored_block}."]
        for layer, stored_layer in zip(encoder.schedule, stored_schedule, strict=True)
        for part, block, stored_block in zip(_BLOCKS, layer, stored_layer, strict=True)
    }
    recursions = {
        f"{_RECURSION}{step}.": stored[f"{_BLOCKS[0]}{attention}."]
        for step, (attention, _) in enumerate(stored_schedule)
    }
    below = dict.fromkeys(_EMBEDDINGS, 1 + max(stored.values()))
    weights = blocks | recursions | below | {_AFTER_BLOCKS: 1}
    return {name: _depth_of(name, adapters if is_adapter(name) else weights) for name, _ in model.named_parameters()}


def _block_depths(encoder: Encoder, schedule: Schedule) -> dict[str, int]:
    """Prefix of the names of a block → its depth, if the blocks run as `schedule` says."""
    last: dict[str, int] = {}
    for step, blocks in enumerate(schedule):
        for part, block in zip(_BLOCKS, blocks, strict=True):
            last[f"{part}{block}."] = step // encoder.config.inner_group_num
    layers = sorted(set(last.values()), reverse=True)
    return {prefix: 1 + layers.index(layer) for prefix, layer in last.items()}


def _depth_of(name: str, depths: Mapping[str, int]) -> int:
    return next((depth for prefix, depth in depths.items() if name.startswith(prefix)), 0)
