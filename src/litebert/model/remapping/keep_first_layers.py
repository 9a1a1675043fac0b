"""The weights of the first layers of a model."""

from collections.abc import Mapping

from torch import Tensor

from litebert.model.config import ModelConfig
from litebert.model.sharing_schedule import sharing_schedule, stored_blocks


def keep_first_layers(parameters: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """The tensors without those that only later layers use; `config` is that of the first ones, by `first_layers`."""
    attentions, feed_forwards = stored_blocks(config)
    counts = {
        "attentions": attentions,
        "feed_forwards": feed_forwards,
        "recursion_lora": len(sharing_schedule(config)),
    }

    def is_kept(name: str) -> bool:
        module, *rest = name.removeprefix("encoder.").split(".")
        return module not in counts or int(rest[0]) < counts[module]

    return {name: tensor for name, tensor in parameters.items() if is_kept(name)}
