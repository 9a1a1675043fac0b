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


def stored_blocks(config: ModelConfig) -> tuple[int, int]:
    """How many attention and how many feed-forward blocks a model stores."""
    last_attention, last_feed_forward = sharing_schedule(config)[-1]
    return last_attention + 1, last_feed_forward + 1


def first_layers(config: ModelConfig, layers: int) -> ModelConfig:
    """The architecture of the first `layers` layers of a model: their stored blocks, by the same numbers.

    Raises:
        ConfigError: the model has fewer layers, or no config describes these ones, such as groups of unequal sizes, or
            one layer with low-rank updates.
    """
    depth = config.num_hidden_layers
    if not 1 <= layers <= depth:
        raise ConfigError(f"layers: {layers}, expected 1 to {depth}, the layers of the model")
    if not _describes_first_layers(config, layers):
        possible = [str(each) for each in range(1, depth + 1) if _describes_first_layers(config, each)]
        kind = f"{config.num_hidden_groups} groups" + (" and low-rank updates" if config.recursion_lora_rank else "")
        raise ConfigError(
            f"layers: no config describes the first {layers} of {depth} layers with {kind}; expected one of "
            f"{', '.join(possible)}"
        )
    return config.replace(num_hidden_layers=layers, num_hidden_groups=_groups_of_first(config, layers))


def _describes_first_layers(config: ModelConfig, layers: int) -> bool:
    """Whether as many layers in as many groups run the same stored blocks as the first layers of the model."""
    groups = _groups_of_first(config, layers)
    if config.recursion_lora_rank and groups == layers:
        return False
    changes = {"num_hidden_layers": layers, "num_hidden_groups": groups}
    kept = sharing_schedule(config)[: layers * config.inner_group_num]
    return sharing_schedule(config.model_copy(update=changes)) == kept


def _groups_of_first(config: ModelConfig, layers: int) -> int:
    """How many groups have one of the first layers."""
    return (layers - 1) * config.num_hidden_groups // config.num_hidden_layers + 1


def with_fewer_layers(config: ModelConfig, layers: int) -> ModelConfig:
    """The architecture with `layers` layers and all stored weights, for progressive_depth; see also `first_layers`.

    Raises:
        ConfigError: the model has fewer layers, or some of its weights would be those of no layer.
    """
    if layers > config.num_hidden_layers:
        raise ConfigError(
            f"progressive_depth.initial_layers: expected at most the {config.num_hidden_layers} layers of the model; "
            f"found {layers}"
        )
    if layers == config.num_hidden_layers:
        return config
    if config.sharing != "all" or config.recursion_lora_rank:
        raise ConfigError(
            "progressive_depth: the layers that are left out at first must have no weights of their own; expected "
            "model.sharing=all and no model.recursion_lora_rank, or leave progressive_depth out"
        )
    if layers < config.num_hidden_groups:
        raise ConfigError(
            f"progressive_depth.initial_layers: expected at least {config.num_hidden_groups}, one for each group of "
            f"layers that share their weights; found {layers}"
        )
    return config.replace(num_hidden_layers=layers)
