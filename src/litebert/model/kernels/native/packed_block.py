"""A whole block for a few rows, such as the tokens of a single text, in one call. For inference."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litebert.model.kernels.native.activations import Form
from litebert.model.kernels.native.attention import starts_and_lengths
from litebert.model.kernels.native.library import NativeLibrary

Parameters = tuple[Tensor | None, Tensor | None]
"""Weight and bias; the weight of a dense layer as `packed_weight` has it."""


@dataclass(frozen=True)
class PackedBlock:
    """The parameters of a block in 32 bits, and what is computed with them."""

    layers: tuple[Parameters, ...]
    """Query, key and value; output; norm of attention; gate, or two times None; up; down; norm of feed-forward."""
    addresses: Int[Tensor, "14"]
    """Of these tensors, in this order: `Weights` of `sources/block.cpp`."""
    heads: int
    head_size: int
    inner: int
    epsilon: float
    norm_first: bool
    form: Form

    @classmethod
    def of(
        cls,
        layers: Sequence[Parameters],
        *,
        heads: tuple[int, int],
        inner: int,
        epsilon: float,
        norm_first: bool,
        form: Form,
    ) -> "PackedBlock":
        """The block with these layers; `heads` are their number and their size."""
        kept = tuple((_contiguous(weight), _contiguous(bias)) for weight, bias in layers)
        addresses = [0 if each is None else each.data_ptr() for pair in kept for each in pair]
        return cls(kept, torch.tensor(addresses), *heads, inner, epsilon, norm_first, form)


def _contiguous(values: Tensor | None) -> Tensor | None:
    return None if values is None else values.contiguous()


def native_block(
    library: NativeLibrary,
    block: PackedBlock,
    x: Float[Tensor, "1 R H"],
    lengths: tuple[int, ...],
    rotation: Float[Tensor, "1 R pairs 2"] | None,
    *,
    causal: bool,
) -> Float[Tensor, "1 R H"]:
    """The output of `block` for the examples of these lengths, one after the other; rows after them mean nothing."""
    rows, hidden = x.shape[1:]
    results = torch.empty_like(x, memory_format=torch.contiguous_format)
    scratch = x.new_empty(rows * (6 * hidden + 2 * block.inner + block.heads))
    angles = None if rotation is None else rotation.float().contiguous()
    sizes = len(lengths), block.heads, block.head_size, block.inner
    kind = block.norm_first, block.form == "gelu_tanh", causal, block.epsilon
    problem = x.contiguous(), block.addresses, angles, *starts_and_lengths(lengths)
    library.run("block", x.dtype, *problem, *sizes, *kind, scratch, results, rows)
    return results
