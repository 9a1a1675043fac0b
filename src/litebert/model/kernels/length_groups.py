"""Attention over concatenated examples that are sorted by length: for inference on CPUs.

Examples of one length are one contiguous piece, so that they need no copy and no Python per example.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from litebert.model.kernels.cpu_attention import SCORES_PER_CHUNK, causal_bias, scaled_probabilities

FUSED_LENGTH: Final = 32
"""Longest examples for which one fused operator in 16 bits is faster than several, if there are few of them."""
SHORT: Final = 64
MANY: Final = 128
"""From this many score matrices (examples · heads) of examples of at most `SHORT` tokens, products are faster in any
precision: by a factor of 1.1 to 3 (Zen 4, 4 to 12 heads)."""
LengthGroups = Sequence[tuple[int, int]]
"""(length, number of examples) of each piece."""


def length_groups(lengths: Sequence[int]) -> LengthGroups:
    """The runs of equal lengths."""
    return [(length, len(list(run))) for length, run in groupby(lengths)]


def attend_in_groups(
    query: Float[Tensor, "R A D"],
    key: Float[Tensor, "R A D"],
    value: Float[Tensor, "R A D"],
    groups: LengthGroups,
    *,
    dropout: float = 0.0,
    causal: bool = False,
) -> Float[Tensor, "R A D"]:
    """Attention inside each example, zeros in the rows after them; `causal`: to no later token.

    By torch's fused kernel, or by products of whole score matrices. The fused kernel takes up to twice as long as the
    products that it consists of: in 16 bits, unless the examples are few and short; in 32 bits, if they are many and
    short.
    """
    heads = query.shape[1]
    fused = partial(F.scaled_dot_product_attention, dropout_p=dropout, is_causal=causal)
    by_products = partial(_attend_by_products, causal=causal)
    context = query.new_empty(query.shape)
    context[sum(length * count for length, count in groups) :] = 0
    for tokens, length in _pieces(groups, heads=heads):
        q, k, v = (tensor[tokens].unflatten(0, (-1, length)).transpose(1, 2) for tensor in (query, key, value))
        attend = by_products if _products_are_faster(q) and not dropout else fused
        context[tokens].unflatten(0, (-1, length)).copy_(attend(q, k, v).transpose(1, 2))  # n S A D
    return context


def _pieces(groups: LengthGroups, *, heads: int) -> Iterator[tuple[slice, int]]:
    """Tokens of the examples of one length, as many as have their scores in the cache, and the length."""
    start = 0
    for length, count in groups:
        end = start + length * count
        step = max(1, length) * max(1, SCORES_PER_CHUNK // max(1, heads * length**2))  # length 0: no token at all
        for first in range(start, end, step):
            yield slice(first, min(first + step, end)), length
        start = end


def _products_are_faster(query: Float[Tensor, "n A S D"]) -> bool:
    n, heads, length, _ = query.shape
    if query.dtype in (torch.float16, torch.bfloat16) and length > FUSED_LENGTH:
        return True
    return n * heads >= MANY and length <= SHORT


def _attend_by_products(
    query: Float[Tensor, "n A S D"], key: Float[Tensor, "n A S D"], value: Float[Tensor, "n A S D"], *, causal: bool
) -> Float[Tensor, "n A S D"]:
    q, k, v = (tensor.flatten(0, 1) for tensor in (query, key, value))
    bias = causal_bias(q.shape[1], q.dtype) if causal else None
    return torch.bmm(scaled_probabilities(q, k, bias), v).unflatten(0, query.shape[:2])
