"""The sharing schedule: which stored blocks each layer runs. Torch-free. docs/reference/sharing.md draws it."""

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig

Schedule = tuple[tuple[int, int], ...]


def sharing_schedule(config: ModelConfig) -> Schedule:
    """For each block that runs, in order: the index of the stored attention and of the stored feed-forward it uses.

    Every stored index is used and the groups run in order. The group of layer i is i · groups // layers, in
    integers: both google-research/albert and transformers compute it in floats, which gives a wrong group at some
    depths, such as 22 layers in 22 groups.
    """
    layers, groups, inner = config.num_hidden_layers, config.num_hidden_groups, config.inner_group_num
    grouped = [layer * groups // layers * inner + block for layer in range(layers) for block in range(inner)]
    own = list(range(layers * inner))
    attention = grouped if config.sharing in ("all", "attention") else own
    feed_forward = grouped if config.sharing in ("all", "feed_forward") else own
    return tuple(zip(attention, feed_forward, strict=True))


def evenly_spaced_layers(config: ModelConfig, count: int) -> tuple[int, ...]:
    """Positions in the schedule of `count` of the layers, as far apart as possible, the first one among them.

    Raises:
        ConfigError: the model has no more layers than that, or the layers left out have weights of their own.
    """
    layers, inner = config.num_hidden_layers, config.inner_group_num
    if count >= layers:
        raise ConfigError(f"initial_layers: expected fewer than the {layers} layers of the model; found {count}")
    chosen = [layer * layers // count for layer in range(count)]
    positions = tuple(layer * inner + block for layer in chosen for block in range(inner))
    schedule = sharing_schedule(config)
    parts = zip(*(schedule[position] for position in positions), strict=True)
    used = [set(part) for part in parts]
    if config.recursion_lora_rank or used != [set(range(stored)) for stored in stored_blocks(config)]:
        raise ConfigError(
            f"initial_layers: {count} of {layers} layers leave out some with weights of their own, which would not be "
            "trained at first; give more layers, or let layers share their weights (model.num_hidden_groups)"
        )
    return positions


def stored_blocks(config: ModelConfig) -> tuple[int, int]:
    """How many attention and how many feed-forward blocks a model stores."""
    last_attention, last_feed_forward = sharing_schedule(config)[-1]
    return last_attention + 1, last_feed_forward + 1
