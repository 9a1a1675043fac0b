"""Adapters: small matrices of low rank that learn beside dense layers. Before: a model. After: fine-tuning.

A block that many layers share can have one adapter, or one for each layer. In the first case the adapters can be folded
into the weights when training ends, and nothing of them is left; in the second the layers have come to differ, and
adapters and shared weights are kept apart.
"""

from copy import deepcopy
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from litebert.errors import ConfigError
from litebert.model.encoder import Encoder
from litebert.model.initialization.random_init import fill_truncated_normal
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.sharing_schedule import sharing_schedule
from litebert.randomness import torch_seed_for


class LoRALinear(nn.Module):
    """A dense layer W with an adapter: (W + alpha ÷ rank · B A) x + b. B starts at zero, so at first nothing changes.

    The sum is made before the product with `x`, so that an adapter that is folded in gives the same numbers.
    """

    def __init__(self, dense: nn.Linear, settings: LoRASettings) -> None:
        super().__init__()
        self.dense = dense
        self.lora_a = nn.Parameter(dense.weight.new_zeros(settings.rank, dense.in_features))
        self.lora_b = nn.Parameter(dense.weight.new_zeros(dense.out_features, settings.rank))
        self.scale = settings.alpha / settings.rank

    @property
    def weight(self) -> Float[Tensor, "outputs inputs"]:
        """W and its adapter as one matrix, in the type of W."""
        with torch.autocast(self.dense.weight.device.type, enabled=False):
            return torch.addmm(self.dense.weight, self.lora_b, self.lora_a, alpha=self.scale)

    @property
    def bias(self) -> Float[Tensor, " outputs"]:
        """Of the dense layer; it has no adapter."""
        return self.dense.bias

    def forward(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """The dense layer with its adapter."""
        return F.linear(x, self.weight, self.bias)


def attach(model: nn.Module, settings: LoRASettings, *, seed: int = 0) -> None:
    """Give the encoder of `model` adapters, in place; A is drawn from `seed` by name, and B is zero.

    Raises ConfigError if it has adapters.
    """
    encoder = cast(Encoder, model.encoder)
    if encoder.adapters is not None:
        raise ConfigError("adapters: the model has adapters already; train those, or start from a model without")
    if settings.per_layer:
        _unroll(encoder)
    encoder.adapters = settings
    for path, block in _blocks(encoder):
        for name in settings.projections:
            if hasattr(block, name):
                adapted = LoRALinear(getattr(block, name), settings)
                scale = adapted.lora_a.shape[1] ** -0.5
                if not adapted.lora_a.is_meta:
                    key = torch_seed_for(seed, "adapter", f"{path}.{name}")
                    fill_truncated_normal(adapted.lora_a, scale=scale, seed=key)
                setattr(block, name, adapted)


def can_be_merged(model: nn.Module) -> bool:
    """Whether the adapters of `model`, if any, can be folded in: not where layers share a block but no adapters."""
    encoder: Any = getattr(model, "encoder", None)
    return not isinstance(encoder, Encoder) or encoder.schedule == sharing_schedule(encoder.config)


@torch.no_grad()
def merged(model: nn.Module) -> nn.Module:
    """A copy of `model` with its adapters folded into the weights, or `model` itself where it has none."""
    if getattr(getattr(model, "encoder", None), "adapters", None) is None:
        return model
    assert can_be_merged(model), "adapters that layers do not share"
    copy = deepcopy(model)
    encoder = cast(Encoder, copy.encoder)
    encoder.adapters = None
    for _, block in _blocks(encoder):
        for name, layer in list(block.named_children()):
            if isinstance(layer, LoRALinear):
                layer.dense.weight = nn.Parameter(layer.weight)
                setattr(block, name, layer.dense)
    return copy


def is_adapter(name: str) -> bool:
    """Whether a parameter of this name belongs to an adapter."""
    return name.endswith((".lora_a", ".lora_b"))


def _unroll(encoder: Encoder) -> None:
    """A block for each that runs. Blocks that were one go on sharing their parameters, but not what is attached."""
    if len(encoder.attentions) == len(encoder.feed_forwards) == len(encoder.schedule):
        return
    attentions = [_twin(encoder.attentions[attention]) for attention, _ in encoder.schedule]
    feed_forwards = [_twin(encoder.feed_forwards[feed_forward]) for _, feed_forward in encoder.schedule]
    encoder.attentions, encoder.feed_forwards = nn.ModuleList(attentions), nn.ModuleList(feed_forwards)
    encoder.schedule = tuple((block, block) for block in range(len(attentions)))


def _twin(block: nn.Module) -> nn.Module:
    """Another module with the very same parameters."""
    return deepcopy(block, {id(parameter): parameter for parameter in block.parameters()})


def _blocks(encoder: Encoder) -> list[tuple[str, nn.Module]]:
    """Every stored block, with its path in the encoder."""
    attentions = ((f"attentions.{number}", block) for number, block in enumerate(encoder.attentions))
    return [*attentions, *((f"feed_forwards.{number}", block) for number, block in enumerate(encoder.feed_forwards))]
