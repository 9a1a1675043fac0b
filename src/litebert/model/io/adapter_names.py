"""Tensor names of per-layer adapters in a model directory.

In memory each layer has blocks of its own, which share their parameters; a directory holds each shared block once and,
beside the blocks, the adapters of each layer.
"""

from collections.abc import Mapping
from typing import Final

from torch import Tensor

from litebert.model.config import ModelConfig, attention_shapes
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.sharing_schedule import sharing_schedule

_PARTS: Final = ("attentions", "feed_forwards")
_FACTORS: Final = {"lora_a": "a", "lora_b": "b"}


def to_saved_names(parameters: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """The parameters of a model with per-layer adapters, each shared one once, under the names of the directory."""
    schedule = sharing_schedule(config)
    result = {}
    for name, tensor in parameters.items():
        match name.split("."):
            case ["encoder", part, step, layer, factor] if part in _PARTS and factor in _FACTORS:
                name = f"encoder.adapters.{step}.{layer}.{_FACTORS[factor]}"
            case ["encoder", part, step, layer, *_, kind] if part in _PARTS:
                name = f"encoder.{part}.{schedule[int(step)][_PARTS.index(part)]}.{layer}.{kind}"
        result[name] = tensor
    return result


def has_adapters(tensors: Mapping[str, Tensor]) -> bool:
    """Whether there are per-layer adapters among the tensors of a directory."""
    return any(name.startswith("encoder.adapters.") for name in tensors)


def from_saved_names(tensors: Mapping[str, Tensor], config: ModelConfig, adapters: LoRASettings) -> dict[str, Tensor]:
    """The inverse of `to_saved_names`: a shared block has the name of the first layer that runs it.

    Tensors that are not of such a model keep their names.
    """
    attention, schedule = attention_shapes(config), sharing_schedule(config)
    factors = {saved: factor for factor, saved in _FACTORS.items()}
    first: dict[str, int] = {}
    for step, blocks in enumerate(schedule):
        for part, block in zip(_PARTS, blocks, strict=True):
            first.setdefault(f"{part}.{block}", step)
    result = {}
    for name, tensor in tensors.items():
        match name.split("."):
            case ["encoder", "adapters", step, layer, factor] if factor in factors:
                part = "attentions" if layer in attention else "feed_forwards"
                name = f"encoder.{part}.{step}.{layer}.{factors[factor]}"
            case ["encoder", part, block, layer, kind] if f"{part}.{block}" in first:
                path = f"{layer}.dense" if layer in adapters.projections else layer
                name = f"encoder.{part}.{first[f'{part}.{block}']}.{path}.{kind}"
        result[name] = tensor
    return result
