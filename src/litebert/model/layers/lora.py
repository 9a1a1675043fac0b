"""LoRA adapters of dense layers. Source: LoRA (Hu et al., 2021).

A block that several layers share can have one adapter, which can be merged into the weights after training, or one
adapter per layer, which cannot, because the layers then differ: shared weights and adapters are saved separately.
"""

from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from litebert.errors import ConfigError
from litebert.model.encoder import Encoder, encoder_of
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.sharing_schedule import sharing_schedule
from litebert.model.truncated_normal import fill_truncated_normal
from litebert.randomness import torch_seed_for


class LoRALinear(nn.Module):
    """A dense layer W x + b with a low-rank update: (W + alpha / rank · B A) x + b. B is initialized to zero.

    The weights are added before the product with `x`, so that a merged adapter gives exactly the same outputs.
    """

    def __init__(self, dense: nn.Linear, settings: LoRASettings) -> None:
        super().__init__()
        self.dense = dense
        self.lora_a = nn.Parameter(dense.weight.new_zeros(settings.rank, dense.in_features))
        self.lora_b = nn.Parameter(dense.weight.new_zeros(dense.out_features, settings.rank))
        self.scale = settings.alpha / settings.rank

    @property
    def weight(self) -> Float[Tensor, "outputs inputs"]:
        """W + alpha / rank · B A, in the dtype of W."""
        with torch.autocast(self.dense.weight.device.type, enabled=False):
            return torch.addmm(self.dense.weight, self.lora_b, self.lora_a, alpha=self.scale)

    @property
    def bias(self) -> Float[Tensor, " outputs"] | None:
        """The bias b of the dense layer, None without biases."""
        return self.dense.bias

    def forward(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """Outputs of the dense layer with its adapter."""
        return F.linear(x, self.weight, self.bias)


def attach(model: nn.Module, settings: LoRASettings, *, seed: int = 0) -> None:
    """Add adapters to the encoder of `model`, in place; A is drawn from `seed` and the parameter's name.

    Raises ConfigError if the encoder has adapters, or no dense layer of one of the names.
    """
    encoder = encoder_of(model)
    if encoder.adapters is not None:
        raise ConfigError(
            "adapters: the model already has adapters; train those, or start from a model without adapters"
        )
    if "gate" in settings.projections and not encoder.config.gated_feed_forward:
        raise ConfigError("adapters.projections: 'gate' is a layer of gated_feed_forward only; leave it out")
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
    """Whether the adapters of `model`, if any, can be merged: not per-layer adapters of a shared block."""
    encoder: Any = getattr(model, "encoder", None)
    return not isinstance(encoder, Encoder) or encoder.schedule == sharing_schedule(encoder.config)


@torch.no_grad()
def merged(model: nn.Module) -> nn.Module:
    """A copy of `model` with its adapters merged into the weights, or `model` itself if it has none."""
    if getattr(getattr(model, "encoder", None), "adapters", None) is None:
        return model
    assert can_be_merged(model), "per-layer adapters of a shared block"
    copy = deepcopy(model)
    encoder = encoder_of(copy)
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
    """Replace the stored blocks by one block per layer; copies of a block share its parameters, not its adapters."""
    if len(encoder.attentions) == len(encoder.feed_forwards) == len(encoder.schedule):
        return
    attentions = [_share_parameters(encoder.attentions[attention]) for attention, _ in encoder.schedule]
    feed_forwards = [_share_parameters(encoder.feed_forwards[feed_forward]) for _, feed_forward in encoder.schedule]
    encoder.attentions, encoder.feed_forwards = nn.ModuleList(attentions), nn.ModuleList(feed_forwards)
    encoder.schedule = tuple((block, block) for block in range(len(attentions)))


def _share_parameters(block: nn.Module) -> nn.Module:
    """A copy of a module with the same parameter objects."""
    return deepcopy(block, {id(parameter): parameter for parameter in block.parameters()})


def _blocks(encoder: Encoder) -> list[tuple[str, nn.Module]]:
    """(path in the encoder, block) of every stored block."""
    attentions = ((f"attentions.{number}", block) for number, block in enumerate(encoder.attentions))
    return [*attentions, *((f"feed_forwards.{number}", block) for number, block in enumerate(encoder.feed_forwards))]
