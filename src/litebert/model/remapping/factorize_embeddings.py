"""Embeddings of width H become embeddings of width E and a projection, by truncated SVD."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.model.config import ModelConfig


def factorize_embeddings(
    parameters: Mapping[str, Tensor], *, source: ModelConfig, target: ModelConfig
) -> dict[str, Tensor]:
    """Embedding tables of width E, their LayerNorm and a projection that approximate tables of width H and their norm.

    LayerNorm reads only the deviations of a vector from its mean. So each row is centred, the rows are projected to
    their E - 1 leading right singular vectors, and these coordinates are rotated into E coordinates of mean 0. Then the
    LayerNorm of width E equals that of width H up to the scale √(H / E). Exact if the tables have rank E - 1 or less.
    """
    H, E = target.hidden_size, target.embedding_size
    tables = ("word", "token_type", "position")
    names = [name for table in tables if (name := f"encoder.embeddings.{table}.weight") in parameters]
    centred = [tensor - tensor.mean(1, keepdim=True) for tensor in (parameters[name].double() for name in names)]
    # Each token has one row of each table, so every table is weighted as a mean over its rows.
    balanced = torch.cat([table / len(table) ** 0.5 for table in centred])
    directions = torch.linalg.svd(balanced, full_matrices=False).Vh[: E - 1]
    rotation = directions.T @ _zero_mean_basis(E).T  # H E
    gain, shift = parameters["encoder.embeddings.norm.weight"], parameters["encoder.embeddings.norm.bias"]
    matrix, offset = gain.double()[:, None] * rotation * (H / E) ** 0.5, shift.double()
    if source.has_projection:
        weight, bias = (parameters[f"encoder.projection.{part}"].double() for part in ("weight", "bias"))
        matrix, offset = weight @ matrix, weight @ offset + bias
    result = {name: table @ rotation for name, table in zip(names, centred, strict=True)}
    result["encoder.embeddings.norm.weight"], result["encoder.embeddings.norm.bias"] = torch.ones(E), torch.zeros(E)
    result["encoder.projection.weight"], result["encoder.projection.bias"] = matrix, offset
    return {name: tensor.to(gain.dtype) for name, tensor in result.items()}


def _zero_mean_basis(size: int) -> Float[Tensor, "size size_minus_1"]:
    """Orthonormal columns that all have mean 0."""
    ones_first = torch.cat([torch.ones(size, 1), torch.eye(size)[:, 1:]], dim=1).double()
    return torch.linalg.qr(ones_first).Q[:, 1:]
