"""Renames tensors between transformers and litebert, and reports every tensor that is dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from litebert.errors import CheckpointError
from litebert.model.config import ModelConfig
from litebert.model.io.tensor_names import tensor_names

# The decoder matrix of the MLM head is the word embedding table; its bias is stored under two names.
_TIED: Final = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}
_BARE_PARTS: Final = ("embeddings.", "encoder.", "pooler.")
_OLD_ENDINGS: Final = {".gamma": ".weight", ".beta": ".bias"}

IDENTITY: Final = "the identity, which changes nothing"
"""Reason for dropping the projection that transformers has even where E equals H; expected, so not logged."""


@dataclass(frozen=True)
class MappedWeights:
    """Tensors under litebert's names, and what became of each tensor of the source."""

    tensors: Mapping[str, Tensor]
    config: ModelConfig
    """The config that fits the tensors: the given one, or with `embedding_projection` "always"."""
    mapped: tuple[tuple[str, str], ...]
    """(name in the source, name in litebert) of each tensor that is used."""
    dropped: tuple[tuple[str, str], ...] = ()
    """(name in the source, reason) of each tensor that is not used."""


def tensors_from_transformers(
    tensors: Mapping[str, Tensor], config: ModelConfig, *, where: str, has_mlm_head: bool = True
) -> MappedWeights:
    """The tensors of a transformers ALBERT under litebert's names.

    A decoder of the MLM head that differs from the word embeddings is dropped if the model of the tensors has no such
    head (`has_mlm_head`), and otherwise a CheckpointError.
    """
    hf_tensors = {_full_name(name, tensors): tensor for name, tensor in tensors.items()}
    hf_tensors, dropped = _untied(hf_tensors, where=where, has_mlm_head=has_mlm_head)
    names = {row.transformers: row.litebert for row in tensor_names(config) if row.transformers in hf_tensors}
    dropped += tuple((name, "not part of this model") for name in hf_tensors if name not in names)
    mapped = tuple((str(hf_name), name) for hf_name, name in names.items())
    weights = MappedWeights({name: hf_tensors[hf_name] for hf_name, name in mapped}, config, mapped, dropped)
    return weights if config.has_projection else _without_projection(weights)


def tensors_to_transformers(tensors: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """The tensors under transformers' names; where E equals H, its projection is the identity."""
    names = {row.litebert: row.transformers for row in tensor_names(config)}
    result = {}
    for name, tensor in tensors.items():
        hf_name = names.get(name)
        if hf_name is None:
            raise CheckpointError(f"tensor {name!r}: has no name in transformers; convert to 'litebert' instead")
        result[hf_name] = tensor
    if not config.has_projection:
        identity, bias = _identity(config.hidden_size)
        result |= {str(names["encoder.projection.weight"]): identity, str(names["encoder.projection.bias"]): bias}
    return result


def _full_name(name: str, among: Mapping[str, Tensor]) -> str:
    """The name in a model with a head; a bare `AlbertModel` has no prefix `albert.`."""
    for old, new in _OLD_ENDINGS.items():
        name = name.removesuffix(old) + new if name.endswith(old) else name
    bare = not any(other.startswith("albert.") for other in among)
    return f"albert.{name}" if bare and name.startswith(_BARE_PARTS) else name


def _untied(
    tensors: Mapping[str, Tensor], *, where: str, has_mlm_head: bool
) -> tuple[dict[str, Tensor], tuple[tuple[str, str], ...]]:
    """The tensors without the second name of each tied pair, and what was dropped.

    transformers uses the bias of the decoder, so this one is taken. A decoder matrix that differs from the embeddings
    would be another model.
    """
    result, dropped = dict(tensors), []
    for tied, source in _TIED.items():
        if tied not in result:
            continue
        tensor = result.pop(tied)
        same = source in result and torch.equal(result[source], tensor)
        if tied.endswith(".weight") and source in result and not same:
            if has_mlm_head:
                raise CheckpointError(
                    f"{where}: {tied} differs from the word embeddings it should equal; this variant is not supported"
                )
            dropped.append((tied, "differs from the word embeddings, and the model has no MLM head"))
            continue
        result[source] = tensor
        dropped.append((tied, f"equal to {source}" if same else f"used as {source}"))
    return result, tuple(dropped)


def _without_projection(weights: MappedWeights) -> MappedWeights:
    """Drop the projection if it is the identity; otherwise set `embedding_projection` to "always"."""
    tensors = dict(weights.tensors)
    weight, bias = (tensors.pop(f"encoder.projection.{part}", None) for part in ("weight", "bias"))
    if weight is None or bias is None:
        return weights
    identity, zero = _identity(weights.config.hidden_size)
    if not (torch.equal(weight.float(), identity) and torch.equal(bias.float(), zero)):
        return replace(weights, config=weights.config.replace(embedding_projection="always"))
    projection = {hf_name for hf_name, name in weights.mapped if name.startswith("encoder.projection.")}
    return replace(
        weights,
        tensors=tensors,
        mapped=tuple(pair for pair in weights.mapped if pair[0] not in projection),
        dropped=(*weights.dropped, *((name, IDENTITY) for name, _ in weights.mapped if name in projection)),
    )


def _identity(size: int) -> tuple[Tensor, Tensor]:
    return torch.eye(size), torch.zeros(size)
