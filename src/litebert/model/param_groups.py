"""Parts of a model, by the names of their parameters: what may stay as it is, and how far each is from the head.

Before: a model. After: fine-tuning, which freezes parts or slows them down.
"""

from typing import Final, cast

from torch import nn

from litebert.model.encoder import Encoder
from litebert.model.layers.lora import is_adapter
from litebert.model.layers.lora_settings import Freeze

_EMBEDDINGS: Final = ("encoder.embeddings.", "encoder.projection.")
_BLOCKS: Final = ("encoder.attentions.", "encoder.feed_forwards.")
_FROZEN: Final[dict[Freeze, tuple[str, ...]]] = {
    "nothing": (),
    "embeddings": _EMBEDDINGS,
    "all_but_pooler": (*_EMBEDDINGS, *_BLOCKS),
    "encoder": ("encoder.",),
}


def freeze(model: nn.Module, parts: Freeze) -> None:
    """Train everything but these parts of `model`; adapters are always trained."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(is_adapter(name) or not name.startswith(_FROZEN[parts]))


def count_parameters(model: nn.Module) -> tuple[int, int]:
    """Numbers of parameters: those that are trained, and all of them."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)


def layer_depths(model: nn.Module) -> dict[str, int]:
    """For each parameter the number of steps from the head: 0 for head and pooler, most for the embeddings.

    A block counts where it is last applied. So blocks of their own are 1, 2, … steps away, from the top down; one block
    that all layers share is a single step, however often it is applied; of an attention that is shared over
    feed-forwards that are not, the attention is as near as the topmost feed-forward.
    """
    encoder = cast(Encoder, model.encoder)
    inner = encoder.config.inner_group_num
    last: dict[str, int] = {}
    for place, stored in enumerate(encoder.schedule):
        for kind, block in zip(_BLOCKS, stored, strict=True):
            last[f"{kind}{block}."] = place // inner
    layers = sorted(set(last.values()), reverse=True)
    steps = {start: 1 + layers.index(layer) for start, layer in last.items()}
    steps |= dict.fromkeys(_EMBEDDINGS, 1 + len(layers))
    return {
        name: next((distance for start, distance in steps.items() if name.startswith(start)), 0)
        for name, _ in model.named_parameters()
    }
