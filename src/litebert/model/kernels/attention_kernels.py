"""Attention kernels. `attend_reference` is the definition, the others must equal it; `layout.py` chooses.

Queries without any key to attend to give zeros, never NaN.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from litebert.model.shapes import AttentionMask


def attend_reference(
    query: Float[Tensor, "B S A D"],
    key: Float[Tensor, "B S A D"],
    value: Float[Tensor, "B S A D"],
    attention_mask: AttentionMask,
    dropout: float,
) -> Float[Tensor, "B S A D"]:
    """softmax(Q Kᵀ / √D) V over the keys where `attention_mask` is True. Source: Vaswani et al. 2017, equation 1."""
    probabilities = F.dropout(attention_probabilities(query, key, attention_mask), dropout).to(value.dtype)
    return torch.einsum("baqk,bkad->bqad", probabilities, value)


def attention_probabilities(
    query: Float[Tensor, "B S A D"], key: Float[Tensor, "B S A D"], attention_mask: AttentionMask
) -> Float[Tensor, "B A S S"]:
    """Probabilities of the keys (last axis) for each query (third axis): they sum to 1, or to 0 without any key."""
    scores = torch.einsum("bqad,bkad->baqk", query, key) * query.shape[-1] ** -0.5
    masked = ~attention_mask[:, None]
    scores = scores.masked_fill(masked, torch.finfo(scores.dtype).min)
    return scores.softmax(-1).masked_fill(masked, 0)


def attend_sdpa(
    query: Float[Tensor, "B S A D"],
    key: Float[Tensor, "B S A D"],
    value: Float[Tensor, "B S A D"],
    attention_mask: AttentionMask,
    dropout: float,
) -> Float[Tensor, "B S A D"]:
    """Attention by `F.scaled_dot_product_attention`."""
    heads_first = (tensor.transpose(1, 2) for tensor in (query, key, value))  # B A S D
    context = F.scaled_dot_product_attention(*heads_first, attn_mask=attention_mask[:, None], dropout_p=dropout)
    return context.transpose(1, 2)


def attend_by_length(
    query: Float[Tensor, "1 R A D"],
    key: Float[Tensor, "1 R A D"],
    value: Float[Tensor, "1 R A D"],
    lengths: Sequence[int],
    dropout: float,
    *,
    causal: bool = False,
) -> Float[Tensor, "1 R A D"]:
    """Attention inside each of the examples concatenated on the token axis; zeros in the rows after them.

    `causal`: to no later token.
    """
    rest = query.shape[1] - sum(lengths)
    parts = [tensor[0].split([*lengths, rest]) for tensor in (query, key, value)]
    contexts: dict[int, Tensor] = {}
    for indices in _indices_by_length(lengths).values():
        stacked = (torch.stack([part[index] for index in indices]).transpose(1, 2) for part in parts)  # n A length D
        context = F.scaled_dot_product_attention(*stacked, dropout_p=dropout, is_causal=causal).transpose(1, 2)
        contexts.update(zip(indices, context, strict=True))
    zeros = query.new_zeros(rest, *query.shape[2:])
    return torch.cat([*(contexts[index] for index in range(len(lengths))), zeros])[None]


def attend_varlen(
    query: Float[Tensor, "1 N A D"],
    key: Float[Tensor, "1 N A D"],
    value: Float[Tensor, "1 N A D"],
    boundaries: Int[Tensor, " examples_plus_1"],
    longest: int,
    *,
    causal: bool = False,
) -> Float[Tensor, "1 N A D"]:
    """As `attend_by_length`, by torch's `varlen_attn`: CUDA, half precision, no dropout."""
    from torch.nn.attention.varlen import varlen_attn

    window = (-1, 0) if causal else (-1, -1)
    context = varlen_attn(query[0], key[0], value[0], boundaries, boundaries, longest, longest, window_size=window)
    return cast(Tensor, context)[None]


def _indices_by_length(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Length → indices of the examples with this length."""
    groups: dict[int, list[int]] = defaultdict(list)
    for index, length in enumerate(lengths):
        groups[length].append(index)
    return groups
