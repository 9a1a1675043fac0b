"""Memory layouts of a batch: padded (B S), or unpadded, the real tokens concatenated to one row (1 N).

The unpadded layout spends no computation on padding; `unpack` restores B S, with zeros at padding. A row of B S may
hold several examples (`sequence_starts`). In both layouts the tokens of an example attend only to each other and its
positions count from its start, so that its outputs are those of the example alone. With `causal` no token attends to a
later one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from litebert.model.kernels.attention_kernels import attend_by_length, attend_reference, attend_sdpa, attend_varlen
from litebert.model.kernels.cpu_attention import attend_16_bits
from litebert.model.kernels.length_groups import attend_in_groups, length_groups
from litebert.model.kernels.native.attention import native_attention
from litebert.model.kernels.native.library import native_library
from litebert.model.kernels.rotary import Rotation, rotate_heads
from litebert.model.shapes import AttentionMask, Mask, Starts

AttentionKernel = Literal["sdpa", "reference", "unpadded", "length_sorted"]
"""`sdpa`: torch's fused attention, padded; `reference`: the definition, padded; `unpadded`: real tokens only;
`length_sorted`: the same, for inference on CPUs."""
_SIXTEEN_BITS: Final = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class PaddedLayout:
    """Every position of the batch, padding included."""

    attention_mask: AttentionMask
    positions: Int[Tensor, "#B S"]
    """Position of each token in its example."""
    kernel: Callable[..., Tensor]

    @classmethod
    def of(
        cls,
        mask: Mask,
        sequence_starts: Starts | None = None,
        *,
        causal: bool = False,
        kernel: Callable[..., Tensor],
    ) -> "PaddedLayout":
        """Layout of a batch."""
        attention_mask, positions = mask[:, None], torch.arange(mask.shape[1], device=mask.device)[None]
        if causal:
            attention_mask = attention_mask & (positions[:, :, None] >= positions[:, None])
        if sequence_starts is None:
            return cls(attention_mask, positions, kernel)
        starts = example_starts(mask, sequence_starts)
        same_example = starts[:, :, None] == starts[:, None]
        return cls(same_example & attention_mask, _flat_positions(mask) - starts, kernel)

    def pack(self, padded: Shaped[Tensor, "B S"]) -> Shaped[Tensor, "B S"]:
        """`padded` itself."""
        return padded

    def unpack(self, packed: Float[Tensor, "B S W"]) -> Float[Tensor, "B S W"]:
        """`packed` itself."""
        return packed

    def take(self, packed: Float[Tensor, "B S W"], at: Int[Tensor, " P"]) -> Float[Tensor, "1 P W"]:
        """The vectors at flat positions of B S, as one row."""
        return packed.flatten(0, 1).index_select(0, at)[None]

    def attend(
        self, projected: Float[Tensor, "B S 3 A D"], rotation: Rotation | None, *, dropout: float
    ) -> Float[Tensor, "B S A D"]:
        """Attention over the keys of the mask."""
        return self.kernel(*rotate_heads(projected, rotation), self.attention_mask, dropout)


@dataclass(frozen=True)
class UnpaddedLayout:
    """Only the real tokens, all examples concatenated, and on a CPU a few rows of zeros: see `rounded_up`.

    On a CPU the longest examples come first, so that attention reads examples of one length in one piece.
    """

    shape: torch.Size
    """B S."""
    indices: Int[Tensor, " N"]
    """Flat position b·S + s of each token."""
    positions: Int[Tensor, "1 R"]
    """Position of each token in its example; R is N and the rows of zeros."""
    boundaries: Int[Tensor, " examples_plus_1"]
    lengths: tuple[int, ...]
    causal: bool

    @classmethod
    def of(cls, mask: Mask, sequence_starts: Starts | None = None, *, causal: bool = False) -> "UnpaddedLayout":
        """Layout of a batch; examples without tokens are dropped. Reads the lengths, which synchronises with CUDA."""
        indices = mask.flatten().nonzero()[:, 0]
        starts = example_starts(mask, sequence_starts).flatten()[indices]
        lengths = tuple(starts.unique_consecutive(return_counts=True)[1].tolist()) or (0,)
        if mask.is_cpu:
            counts = torch.tensor(lengths)
            order = counts.repeat_interleave(counts).argsort(descending=True, stable=True)
            indices, starts, lengths = indices[order], starts[order], tuple(sorted(lengths, reverse=True))
        boundaries = torch.tensor([0, *lengths], device=mask.device).cumsum(0, dtype=torch.int32)
        extra = rounded_up(len(indices)) - len(indices) if mask.is_cpu else 0
        return cls(mask.shape, indices, F.pad(indices - starts, (0, extra))[None], boundaries, lengths, causal)

    def pack(self, padded: Shaped[Tensor, "B S"]) -> Shaped[Tensor, "1 R"]:
        """The values of the real tokens, then zeros."""
        real = padded.flatten()[self.indices]
        return F.pad(real, (0, self.positions.shape[1] - len(real)))[None]

    def unpack(self, packed: Float[Tensor, "1 R W"]) -> Float[Tensor, "B S W"]:
        """The vectors at the positions of their tokens, zeros at padding."""
        padded = packed.new_zeros(self.shape.numel(), packed.shape[-1])
        return padded.index_copy(0, self.indices, packed[0, : len(self.indices)]).view(*self.shape, packed.shape[-1])

    def take(self, packed: Float[Tensor, "1 R W"], at: Int[Tensor, " P"]) -> Float[Tensor, "1 P W"]:
        """The vectors at flat positions of B S, as one row; zeros at padding."""
        packed_index = self.indices.new_full((self.shape.numel(),), packed.shape[1])
        packed_index[self.indices] = torch.arange(len(self.indices), device=packed_index.device)
        with_zeros = torch.cat([packed[0], packed.new_zeros(1, packed.shape[-1])])
        return with_zeros.index_select(0, packed_index[at])[None]

    @torch._disable_dynamo  # the lengths are Python numbers, so every batch would be compiled anew
    def attend(
        self, projected: Float[Tensor, "1 R 3 A D"], rotation: Rotation | None, *, dropout: float
    ) -> Float[Tensor, "1 R A D"]:
        """Attention inside each example; zeros in the rows after them."""
        if not dropout and (context := self._attend_compiled(projected, rotation)) is not None:
            return context
        if not dropout and projected.is_cpu and projected.dtype in _SIXTEEN_BITS:
            row = None if rotation is None else rotation[0]
            return attend_16_bits(projected.flatten(0, 1), self.lengths, rotation=row, causal=self.causal)[None]
        heads = rotate_heads(projected, rotation)
        if not dropout and projected.dtype in _SIXTEEN_BITS:
            return attend_varlen(*heads, self.boundaries, max(self.lengths), causal=self.causal)
        return attend_by_length(*heads, self.lengths, dropout, causal=self.causal)

    def _attend_compiled(
        self, projected: Float[Tensor, "1 R 3 A D"], rotation: Rotation | None
    ) -> Float[Tensor, "1 R A D"] | None:
        """By the compiled kernel, in one call for all examples; None where there is none, or torch is as fast.

        In 16 bits torch's operators are as fast unless the processor has products of bf16.
        """
        library = native_library(projected)
        if library is None or projected.shape[-1] % 2:
            return None
        if projected.dtype != torch.float32 and not library.has_bfloat16_products:
            return None
        row = None if rotation is None else rotation[0]
        return native_attention(library, projected.flatten(0, 1), self.lengths, rotation=row, causal=self.causal)[None]


class LengthSortedLayout(UnpaddedLayout):
    """The same, with attention for inference on CPUs where none is compiled."""

    def attend(
        self, projected: Float[Tensor, "1 R 3 A D"], rotation: Rotation | None, *, dropout: float
    ) -> Float[Tensor, "1 R A D"]:
        """Attention inside each example; zeros in the rows after them."""
        if not dropout and (context := self._attend_compiled(projected, rotation)) is not None:
            return context
        query, key, value = (part[0] for part in rotate_heads(projected, rotation))
        groups = length_groups(self.lengths)
        return attend_in_groups(query, key, value, groups, dropout=dropout, causal=self.causal)[None]


Layout = PaddedLayout | UnpaddedLayout

LAYOUTS: Final[dict[AttentionKernel, Callable[..., Layout]]] = {
    "sdpa": partial(PaddedLayout.of, kernel=attend_sdpa),
    "reference": partial(PaddedLayout.of, kernel=attend_reference),
    "unpadded": UnpaddedLayout.of,
    "length_sorted": LengthSortedLayout.of,
}


def rounded_up(tokens: int) -> int:
    """At most 1/32 more, 1 % in the mean: the next multiple of a power of two, which is 1/32 to 1/64 of `tokens`.

    oneDNN compiles a product anew for every number of rows, which takes as long as a small product itself; without
    rounding nearly every batch has another number of tokens.
    """
    step = 1 << max(0, tokens.bit_length() - 6)
    return -(-tokens // step) * step


MIN_UNPADDED_ROW: Final = 12_000
"""Row length · hidden size from which skipping padding saves more time than a call for each length costs."""


def default_kernel(device: torch.device, *, training: bool, row: int, one_call: bool) -> AttentionKernel:
    """`unpadded` for training on a CPU, unless rows are tiny (`row`: length · hidden size); otherwise `sdpa`.

    `one_call`: whether one kernel attends in all examples, which is 1.5 to 3 times as fast as `sdpa` at any length.
    Never `unpadded` while compiling or exporting: the program would hold the lengths of one batch.
    """
    saves_time = training and device.type == "cpu" and (one_call or row >= MIN_UNPADDED_ROW)
    return "unpadded" if saves_time and not torch.compiler.is_compiling() else "sdpa"


def example_starts(mask: Mask, sequence_starts: Starts | None) -> Int[Tensor, "B S"]:
    """For each position the flat position of the first token of its example, or of its row before the first example."""
    starts = _flat_positions(mask)
    starts[:, 1:] = 0
    if sequence_starts is not None:
        starts.view(-1)[sequence_starts] = sequence_starts
    return starts.cummax(1).values


def _flat_positions(mask: Mask) -> Int[Tensor, "B S"]:
    return torch.arange(mask.numel(), device=mask.device).view(mask.shape)
