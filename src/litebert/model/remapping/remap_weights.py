"""Initializes one architecture from the weights of another: sharing, depth, feed-forward width, factorized embeddings.

Source: ALBERT, appendix A.1, initializes each depth from the one before.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

from litebert.errors import ConfigError
from litebert.model.config import BLOCK_FIELDS, ModelConfig
from litebert.model.remapping.factorize_embeddings import factorize_embeddings
from litebert.model.remapping.widen_feed_forwards import widen_feed_forwards
from litebert.model.sharing_schedule import sharing_schedule

_FIXED: Final = (
    *("hidden_size", "num_attention_heads", "vocab_size", "max_position_embeddings"),
    *("type_vocab_size", *BLOCK_FIELDS),
)
_RECURSION: Final = "encoder.recursion_lora."
_NEW: Final = ("mlm.dense.", "mlm.norm.")


def remap_weights(
    parameters: Mapping[str, Tensor], *, source: ModelConfig, target: ModelConfig, seed: int = 0
) -> dict[str, Tensor]:
    """A state dict for `target` from that of a model of `source`.

    Each stored block of the target becomes the mean of the source's blocks that ran at the same relative depth, so
    unsharing, and deepening a shared model, keep the blocks exactly, and sharing averages them. Low-rank updates come
    from the block at the same relative depth. New units of wider feed-forward layers have random weights, drawn with
    `seed`, and change no output. Embeddings of width H are factorized into width E and a projection by truncated SVD;
    the result then lacks the transform of the MLM head, which has width E and must be initialized anew.

    Raises:
        ConfigError: the architectures differ in a field that cannot be remapped.
    """
    _validate_same_architecture(source, target)
    result = dict(parameters)
    if sharing_schedule(source) != sharing_schedule(target):
        result = _remapped_blocks(result, source, target)
    if target.intermediate_size > source.intermediate_size:
        result |= widen_feed_forwards(result, target.intermediate_size, scale=target.initializer_range, seed=seed)
    if source.embedding_size != target.embedding_size:
        result = {name: tensor for name, tensor in result.items() if not name.startswith(_NEW)}
        result |= factorize_embeddings(result, source=source, target=target)
    return result


def merged_blocks(source: ModelConfig, target: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Stored blocks of the target that `remap_weights` makes from more than one of the source: name → their numbers."""
    return {
        f"{name} {block}": tuple(sources)
        for part, name in enumerate(("attention", "feed-forward"))
        for block, sources in _source_blocks(source, target, part).items()
        if len(sources) > 1
    }


def _validate_same_architecture(source: ModelConfig, target: ModelConfig) -> None:
    rotary = source.position_embedding == "rotary"  # without a table of positions, any length will do
    for field in (name for name in _FIXED if not (rotary and name == "max_position_embeddings")):
        old, new = getattr(source, field), getattr(target, field)
        if old != new:
            raise ConfigError(
                f"{field}: the trained model has {old}, the new one {new}, which cannot be remapped; keep {old}"
            )
    old, new = source.intermediate_size, target.intermediate_size
    if new < old:
        raise ConfigError(
            f"intermediate_size: the trained model has {old}, the new one {new}; feed-forward layers can become wider, "
            f"not narrower; set {old} or more"
        )
    old, new = source.embedding_size, target.embedding_size
    if old != new and not (new < old == source.hidden_size):
        raise ConfigError(
            f"embedding_size: only embeddings of width hidden_size ({source.hidden_size}) can be factorized into a "
            f"smaller width, found {old} and {new}; keep {old}"
        )
    if old == new and source.has_projection != target.has_projection:
        raise ConfigError("embedding_projection: only one of the two models has the projection; keep the setting")


def _remapped_blocks(parameters: Mapping[str, Tensor], source: ModelConfig, target: ModelConfig) -> dict[str, Tensor]:
    in_blocks = ("encoder.attentions.", "encoder.feed_forwards.", _RECURSION)
    result = {name: tensor for name, tensor in parameters.items() if not name.startswith(in_blocks)}
    result |= _recursion_lora(parameters, source, target)
    for part, name in enumerate(("encoder.attentions", "encoder.feed_forwards")):
        for block, sources in _source_blocks(source, target, part).items():
            result |= _mean_block(parameters, name, block, sources)
    return result


def _source_blocks(source: ModelConfig, target: ModelConfig, part: int) -> dict[int, Counter[int]]:
    """For each stored block of the target: the source's blocks at the same relative depths, and how often each ran.

    `part` is 0 for attentions and 1 for feed-forwards.
    """
    old, new = sharing_schedule(source), sharing_schedule(target)
    sources: dict[int, Counter[int]] = {}
    for step, blocks in enumerate(new):
        sources.setdefault(blocks[part], Counter())[old[step * len(old) // len(new)][part]] += 1
    return sources


def _recursion_lora(parameters: Mapping[str, Tensor], source: ModelConfig, target: ModelConfig) -> dict[str, Tensor]:
    """The low-rank updates of each block of the target that runs: those of the source at the same relative depth."""
    old, new = len(sharing_schedule(source)), len(sharing_schedule(target))
    result = {}
    for step in range(new):
        prefix = f"{_RECURSION}{step * old // new}."
        suffixes = [name.removeprefix(prefix) for name in parameters if name.startswith(prefix)]
        result |= {f"{_RECURSION}{step}.{suffix}": parameters[prefix + suffix] for suffix in suffixes}
    return result


def _mean_block(parameters: Mapping[str, Tensor], name: str, block: int, sources: Counter[int]) -> dict[str, Tensor]:
    """One stored block: the mean of its source blocks, weighted by how often each ran."""
    prefixes = {f"{name}.{source}.": count / sources.total() for source, count in sources.items()}
    first = next(iter(prefixes))
    suffixes = [key.removeprefix(first) for key in parameters if key.startswith(first)]
    result = {}
    for suffix in suffixes:
        tensors = [parameters[prefix + suffix] for prefix in prefixes]
        mean = sum(weight * tensor.double() for weight, tensor in zip(prefixes.values(), tensors, strict=True))
        result[f"{name}.{block}.{suffix}"] = torch.as_tensor(mean).to(tensors[0].dtype)
    return result
