"""Shapes of the dense layers of a block. Torch-free."""

from litebert.model.config import ModelConfig

Shapes = dict[str, tuple[int, int]]
"""Name of a dense layer → (inputs, outputs)."""


def attention_shapes(config: ModelConfig) -> Shapes:
    """The dense layers of an attention block."""
    return dict.fromkeys(("query", "key", "value", "output"), (config.hidden_size, config.hidden_size))


def feed_forward_shapes(config: ModelConfig) -> Shapes:
    """The dense layers of a feed-forward block."""
    up = (config.hidden_size, config.intermediate_size)
    return {"up": up, **({"gate": up} if config.gated_feed_forward else {}), "down": up[::-1]}
