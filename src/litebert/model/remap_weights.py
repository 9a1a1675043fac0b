"""From one architecture to another with the weights kept. Before: a trained model. After: a model to train on.

One function crosses every bridge; the two configs say which: to unshare, to share (BERT to ALBERT), to change the
depth (the paper's warm starts), to factorise the embeddings.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.sharing_schedule import sharing_schedule

_FIXED: Final = (
    "hidden_size",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
)
_FRESH: Final = ("mlm.dense.", "mlm.norm.")


def remap_weights(parameters: Mapping[str, Tensor], *, source: ModelConfig, target: ModelConfig) -> dict[str, Tensor]:
    """Parameters (a state dict) for `target` made from those of a model of `source`.

    Each stored block becomes the mean of the blocks that ran where it will run. So unsharing, and deepening a shared
    model, keep the blocks exactly; sharing averages them. Embeddings of width H become a table of width E and its
    projection by truncated SVD; the transform of the MLM head, whose width is E, is then left out and starts fresh.

    Raises:
        ConfigError: the architectures differ in what no bridge crosses.
    """
    _validate_same_architecture(source, target)
    same_blocks = sharing_schedule(source) == sharing_schedule(target)
    if same_blocks and source.embedding_size == target.embedding_size:
        return dict(parameters)
    result = {name: tensor for name, tensor in parameters.items() if not _in_block(name)}
    for kind, name in enumerate(("encoder.attentions", "encoder.feed_forwards")):
        for block, origins in _origins(source, target, kind).items():
            result |= _mean_block(parameters, name, block, origins)
    if source.embedding_size != target.embedding_size:
        result = {name: tensor for name, tensor in result.items() if not name.startswith(_FRESH)}
        result |= _factorized(parameters, source, target)
    return result


def _validate_same_architecture(source: ModelConfig, target: ModelConfig) -> None:
    for field in _FIXED:
        old, new = getattr(source, field), getattr(target, field)
        if old != new:
            raise ConfigError(
                f"{field}: the trained model has {old}, the new one {new}; no bridge changes it, keep {old}"
            )
    old, new = source.embedding_size, target.embedding_size
    if old != new and not (new < old == source.hidden_size):
        raise ConfigError(
            f"embedding_size: only embeddings of width hidden_size ({source.hidden_size}) can be factorised into a "
            f"smaller width, found {old} and {new}; keep {old}"
        )
    if old == new and source.has_projection != target.has_projection:
        raise ConfigError("embedding_projection: only one of the two models has the projection; keep the setting")


def _in_block(name: str) -> bool:
    return name.startswith(("encoder.attentions.", "encoder.feed_forwards."))


def _origins(source: ModelConfig, target: ModelConfig, kind: int) -> dict[int, Counter[int]]:
    """For each block that the target stores: the source's blocks at the same relative depth, and how often each ran."""
    old, new = sharing_schedule(source), sharing_schedule(target)
    origins: dict[int, Counter[int]] = {}
    for step, blocks in enumerate(new):
        origins.setdefault(blocks[kind], Counter())[old[step * len(old) // len(new)][kind]] += 1
    return origins


def _mean_block(parameters: Mapping[str, Tensor], name: str, block: int, origins: Counter[int]) -> dict[str, Tensor]:
    """One stored block: a copy of its only origin, or the mean of several, weighted by how often each ran."""
    prefixes = {f"{name}.{origin}.": count / origins.total() for origin, count in origins.items()}
    first = next(iter(prefixes))
    endings = [key.removeprefix(first) for key in parameters if key.startswith(first)]
    result = {}
    for ending in endings:
        tensors = [parameters[prefix + ending] for prefix in prefixes]
        mean = sum(weight * tensor.double() for weight, tensor in zip(prefixes.values(), tensors, strict=True))
        result[f"{name}.{block}.{ending}"] = torch.as_tensor(mean).to(tensors[0].dtype)
    return result


def _factorized(parameters: Mapping[str, Tensor], source: ModelConfig, target: ModelConfig) -> dict[str, Tensor]:
    """Tables of width E, their norm and their projection, that stand for tables of width H and their norm.

    A layer norm sees a vector through its deviations from its own mean. So the tables are centred, their E - 1 main
    directions kept, and these turned into E coordinates whose mean is 0: then the small norm does what the large one
    did, up to the scale √(H / E). Exact where the tables have rank E - 1 or less.
    """
    H, E = target.hidden_size, target.embedding_size
    names = [f"encoder.embeddings.{table}.weight" for table in ("word", "token_type", "position")]
    centred = [tensor - tensor.mean(1, keepdim=True) for tensor in (parameters[name].double() for name in names)]
    # every token has one row of each table, so each table counts as a mean over its rows
    balanced = torch.cat([table / len(table) ** 0.5 for table in centred])
    directions = torch.linalg.svd(balanced, full_matrices=False).Vh[: E - 1]
    turn = directions.T @ _zero_mean_basis(E).T  # H E
    gain, shift = parameters["encoder.embeddings.norm.weight"], parameters["encoder.embeddings.norm.bias"]
    matrix, offset = gain.double()[:, None] * turn * (H / E) ** 0.5, shift.double()
    if source.has_projection:
        weight, bias = (parameters[f"encoder.projection.{part}"].double() for part in ("weight", "bias"))
        matrix, offset = weight @ matrix, weight @ offset + bias
    result = {name: table @ turn for name, table in zip(names, centred, strict=True)}
    result["encoder.embeddings.norm.weight"], result["encoder.embeddings.norm.bias"] = torch.ones(E), torch.zeros(E)
    result["encoder.projection.weight"], result["encoder.projection.bias"] = matrix, offset
    return {name: tensor.to(gain.dtype) for name, tensor in result.items()}


def _zero_mean_basis(size: int) -> Float[Tensor, "size size_minus_1"]:
    """Orthonormal columns that all have mean 0."""
    ones_first = torch.cat([torch.ones(size, 1), torch.eye(size)[:, 1:]], dim=1).double()
    return torch.linalg.qr(ones_first).Q[:, 1:]
