"""Groups of parameters for fine-tuning, by name: frozen parts, and the depth of each layer."""

from typing import Final, cast

from torch import nn

from litebert.model.encoder import Encoder
from litebert.model.layers.lora import is_adapter
from litebert.model.layers.lora_settings import Freeze

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
    """Depth of each parameter below the head: 0 for head and pooler, largest for the embeddings.

    A stored block, with its low-rank updates, has the depth of the last layer that runs it. Without sharing the layers
    have depths 1, 2, … from the top down; a block that all layers share has depth 1; an attention shared by all layers
    has the depth of the top feed-forward.
    """
    encoder = cast(Encoder, model.encoder)
    inner = encoder.config.inner_group_num
    last: dict[str, int] = {}
    for step, stored in enumerate(encoder.schedule):
        for prefix, block in zip(_BLOCKS, stored, strict=True):
            last[f"{prefix}{block}."] = step // inner
    layers = sorted(set(last.values()), reverse=True)
    depths = {prefix: 1 + layers.index(layer) for prefix, layer in last.items()}
    attentions = [f"{_BLOCKS[0]}{attention}." for attention, _ in encoder.schedule]
    depths |= {f"{_RECURSION}{step}.": depths[attention] for step, attention in enumerate(attentions)}
    depths |= {_AFTER_BLOCKS: 1, **dict.fromkeys(_EMBEDDINGS, 1 + len(layers))}
    return {
        name: next((depth for prefix, depth in depths.items() if name.startswith(prefix)), 0)
        for name, _ in model.named_parameters()
    }
