"""Tensors of transformers under our names, and back. Before: `weight_files`. After: `directory.py`.

Nothing is lost without a trace: what a file holds and the model does not use is listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from litebert.errors import CheckpointError
from litebert.model.config import ModelConfig
from litebert.model.io.tensor_names import tensor_names

# The prediction layer's matrix is the table of word embeddings; its bias is stored under two names.
_TIED: Final = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}
_BARE_PARTS: Final = ("embeddings.", "encoder.", "pooler.")
_OLD_ENDINGS: Final = {".gamma": ".weight", ".beta": ".bias"}

IDENTITY: Final = "the identity, which changes nothing"
"""Why the projection that transformers has where E equals H is left out; expected, so not worth a message."""


@dataclass(frozen=True)
class Renamed:
    """Tensors under our names, and what became of the names they had."""

    tensors: Mapping[str, Tensor]
    config: ModelConfig
    """The config that the tensors need; other than asked for only where transformers stores one layer more."""
    mapped: tuple[tuple[str, str], ...]
    """Name in the file and name here, of each tensor that was taken."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Name in the file and reason, of each tensor that has no place here."""


def from_transformers(tensors: Mapping[str, Tensor], config: ModelConfig, *, where: str) -> Renamed:
    """Every tensor of a transformers ALBERT that has a name here; raises CheckpointError where a tie is broken."""
    theirs = {_full_name(name, tensors): tensor for name, tensor in tensors.items()}
    theirs, dropped = _untied(theirs, where=where)
    names = {row.transformers: row.ours for row in tensor_names(config) if row.transformers in theirs}
    dropped += tuple((name, "has no place in this model") for name in theirs if name not in names)
    mapped = tuple((str(their), ours) for their, ours in names.items())
    renamed = Renamed({ours: theirs[their] for their, ours in mapped}, config, mapped, dropped)
    return renamed if config.has_projection else _without_projection(renamed)


def to_transformers(tensors: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Our tensors under transformers' names; where E equals H, its projection is written as the identity."""
    names = {row.ours: row.transformers for row in tensor_names(config)}
    result = {}
    for name, tensor in tensors.items():
        theirs = names.get(name)
        if theirs is None:
            raise CheckpointError(f"tensor {name!r}: has no name in transformers; keep our own form")
        result[theirs] = tensor
    if not config.has_projection:
        identity, bias = _identity(config.hidden_size)
        result |= {str(names["encoder.projection.weight"]): identity, str(names["encoder.projection.bias"]): bias}
    return result


def _full_name(name: str, among: Mapping[str, Tensor]) -> str:
    """The name as a model with a head stores it: a bare `AlbertModel` leaves out the first part."""
    for old, new in _OLD_ENDINGS.items():
        name = name.removesuffix(old) + new if name.endswith(old) else name
    bare = not any(other.startswith("albert.") for other in among)
    return f"albert.{name}" if bare and name.startswith(_BARE_PARTS) else name


def _untied(theirs: Mapping[str, Tensor], *, where: str) -> tuple[dict[str, Tensor], tuple[tuple[str, str], ...]]:
    """The tensors with each tied pair as one.

    transformers computes with the prediction layer's own bias, so that one counts. Its own matrix, different from the
    embeddings, would be another model.
    """
    result, dropped = dict(theirs), []
    for tied, source in _TIED.items():
        if tied not in result:
            continue
        tensor = result.pop(tied)
        same = source in result and torch.equal(result[source], tensor)
        if tied.endswith(".weight") and source in result and not same:
            raise CheckpointError(
                f"{where}: {tied} differs from the word embeddings it should equal; this variant is not supported"
            )
        result[source] = tensor
        dropped.append((tied, f"the same as {source}" if same else f"taken as {source}"))
    return result, tuple(dropped)


def _without_projection(renamed: Renamed) -> Renamed:
    """Leave out a projection that changes nothing; one that does is kept, and the config says so."""
    tensors = dict(renamed.tensors)
    weight, bias = tensors.pop("encoder.projection.weight", None), tensors.pop("encoder.projection.bias", None)
    if weight is None or bias is None:
        return renamed
    identity, zero = _identity(renamed.config.hidden_size)
    if not (torch.equal(weight.float(), identity) and torch.equal(bias.float(), zero)):
        return replace(renamed, config=renamed.config.replace(embedding_projection="always"))
    projection = {their: ours for their, ours in renamed.mapped if ours.startswith("encoder.projection.")}
    return replace(
        renamed,
        tensors=tensors,
        mapped=tuple(pair for pair in renamed.mapped if pair[0] not in projection),
        dropped=(*renamed.dropped, *((name, IDENTITY) for name in projection)),
    )


def _identity(size: int) -> tuple[Tensor, Tensor]:
    return torch.eye(size), torch.zeros(size)
