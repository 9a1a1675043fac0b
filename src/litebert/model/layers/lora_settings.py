"""Settings of parameter-efficient fine-tuning: LoRA adapters and frozen parts. Torch-free."""

from typing import Literal

from pydantic import Field, field_validator

from litebert.settings import Settings

Adaptable = Literal["query", "key", "value", "output", "up", "gate", "down"]
"""Dense layers of a block: four of the attention, three of the feed-forward (`gate` with `gated_feed_forward`)."""

Freeze = Literal["nothing", "embeddings", "all_but_pooler", "encoder"]
"""Frozen parts: none; the embeddings with their projection; these and all blocks; these and the pooler."""


class LoRASettings(Settings):
    """LoRA adapters of dense layers. Source: LoRA (Hu et al., 2021), section 4."""

    rank: int = Field(default=8, gt=0)
    """Rank r of the update B A."""
    alpha: float = Field(default=16.0, gt=0)
    """The update is scaled by alpha / rank."""
    projections: tuple[Adaptable, ...] = Field(default=("query", "value"), min_length=1)
    """Dense layers that get an adapter: query, key, value, output (attention), up, gate, down (feed-forward)."""
    per_layer: bool = False
    """One adapter per layer, even where layers share a block; otherwise one per stored block."""

    @field_validator("projections")
    @classmethod
    def _once(cls, projections: tuple[Adaptable, ...]) -> tuple[Adaptable, ...]:
        if len(set(projections)) < len(projections):
            raise ValueError("names a projection twice; name each once")
        return projections
