"""What of a model is trained: adapters, parts. Before: a recipe or a `config.json`. After: `adapters.py`, `parts.py`.

Torch-free, as `config.py`.
"""

from typing import Literal

from pydantic import Field, field_validator

from litebert.settings import Settings

Adaptable = Literal["query", "key", "value", "output", "up", "down"]
"""Dense layers of a block: four of its attention, two of its feed-forward."""

Freeze = Literal["nothing", "embeddings", "all_but_pooler", "encoder"]
"""Parts that are not trained: none, the embeddings with their projection, these and all blocks, or the pooler too."""


class LoRASettings(Settings):
    """What is learnt beside frozen dense layers. Source: LoRA (Hu et al., 2021), section 4."""

    rank: int = Field(default=8, gt=0)
    """Width of the bottleneck, r."""
    alpha: float = Field(default=16.0, gt=0)
    """The product of the two small matrices is scaled by alpha ÷ rank."""
    projections: tuple[Adaptable, ...] = Field(default=("query", "value"), min_length=1)
    """Dense layers that get an adapter: query, key, value, output (attention), up, down (feed-forward)."""
    per_layer: bool = False
    """An adapter for each layer, so that layers that share a block come to differ; else one for each stored block."""

    @field_validator("projections")
    @classmethod
    def _once(cls, projections: tuple[Adaptable, ...]) -> tuple[Adaptable, ...]:
        if len(set(projections)) < len(projections):
            raise ValueError("names a projection twice; name each once")
        return projections
