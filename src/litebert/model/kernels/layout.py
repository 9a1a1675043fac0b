"""How a batch lies in memory. Before: the attention mask. After: every block works on one layout from start to end.

On the grid every position is computed, padding too. Packed, the real tokens lie end to end as one long row (the batch
axis has length 1), so that padding costs nothing; the grid comes back at the end, with zeros at the padding.

A row of the grid may hold several examples. In both layouts the tokens of one see only each other, and its positions
count from its start, so that it gives what it gives alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from litebert.model.kernels.attention_kernels import attend_by_length, attend_reference, attend_sdpa, attend_varlen
from litebert.model.kernels.cpu_kernels import attend_16_bits
from litebert.model.shapes import Mask, Starts, Visible

AttentionKernel = Literal["sdpa", "reference", "unpadded"]
"""`sdpa`: torch's fused attention on the grid; `reference`: the definition, on the grid; `unpadded`: real tokens."""


@dataclass(frozen=True)
class PaddedLayout:
    """Every position of the batch, padding too."""

    visible: Visible
    positions: Int[Tensor, "#B S"]
    """Where each token stands in its example."""
    kernel: Callable[..., Tensor]

    @classmethod
    def of(cls, mask: Mask, sequence_starts: Starts | None = None, *, kernel: Callable[..., Tensor]) -> "PaddedLayout":
        """Layout of a batch."""
        if sequence_starts is None:
            return cls(mask[:, None], torch.arange(mask.shape[1], device=mask.device)[None], kernel)
        begins = example_begins(mask, sequence_starts)
        visible = (begins[:, :, None] == begins[:, None]) & mask[:, None]
        return cls(visible, _cells(mask) - begins, kernel)

    def pack(self, grid: Shaped[Tensor, "B S"]) -> Shaped[Tensor, "B S"]:
        """The values as they are."""
        return grid

    def unpack(self, packed: Float[Tensor, "B S W"]) -> Float[Tensor, "B S W"]:
        """The vectors as they are."""
        return packed

    def take(self, packed: Float[Tensor, "B S W"], at: Int[Tensor, " P"]) -> Float[Tensor, "1 P W"]:
        """The vectors at flat positions of the grid, as one row."""
        return packed.flatten(0, 1).index_select(0, at)[None]

    def attend(
        self,
        query: Float[Tensor, "B S A D"],
        key: Float[Tensor, "B S A D"],
        value: Float[Tensor, "B S A D"],
        *,
        dropout: float,
    ) -> Float[Tensor, "B S A D"]:
        """Attention over the keys that each token sees."""
        return self.kernel(query, key, value, self.visible, dropout)


@dataclass(frozen=True)
class UnpaddedLayout:
    """Only the real tokens, example after example."""

    shape: torch.Size
    """Of the grid, B S."""
    indices: Int[Tensor, " N"]
    """Where in the flat grid each token stood."""
    positions: Int[Tensor, "1 N"]
    """Where each token stands in its example."""
    boundaries: Int[Tensor, " examples_plus_1"]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, mask: Mask, sequence_starts: Starts | None = None) -> "UnpaddedLayout":
        """Layout of a batch; examples without a token vanish. Reads the lengths: CUDA has to wait."""
        indices = mask.flatten().nonzero()[:, 0]
        begins = example_begins(mask, sequence_starts).flatten()[indices]
        lengths = tuple(begins.unique_consecutive(return_counts=True)[1].tolist()) or (0,)
        boundaries = torch.tensor([0, *lengths], device=mask.device).cumsum(0, dtype=torch.int32)
        return cls(mask.shape, indices, (indices - begins)[None], boundaries, lengths)

    def pack(self, grid: Shaped[Tensor, "B S"]) -> Shaped[Tensor, "1 N"]:
        """The values of the real tokens."""
        return grid.flatten()[self.indices][None]

    def unpack(self, packed: Float[Tensor, "1 N W"]) -> Float[Tensor, "B S W"]:
        """The vectors where their tokens stood, zeros at the padding."""
        grid = packed.new_zeros(self.shape.numel(), packed.shape[-1])
        return grid.index_copy(0, self.indices, packed[0]).view(*self.shape, -1)

    def take(self, packed: Float[Tensor, "1 N W"], at: Int[Tensor, " P"]) -> Float[Tensor, "1 P W"]:
        """The vectors at flat positions of the grid, as one row; zeros for padding."""
        size = len(self.indices)
        places = self.indices.new_full((self.shape.numel(),), size)
        places[self.indices] = torch.arange(size, device=places.device)
        with_zeros = torch.cat([packed[0], packed.new_zeros(1, packed.shape[-1])])
        return with_zeros.index_select(0, places[at])[None]

    @torch.compiler.disable  # the lengths of a batch are Python numbers: each batch would be a new program
    def attend(
        self,
        query: Float[Tensor, "1 N A D"],
        key: Float[Tensor, "1 N A D"],
        value: Float[Tensor, "1 N A D"],
        *,
        dropout: float,
    ) -> Float[Tensor, "1 N A D"]:
        """Attention inside each example."""
        if dropout or query.dtype not in (torch.float16, torch.bfloat16):
            return attend_by_length(query, key, value, self.lengths, dropout)
        if query.is_cuda:
            return attend_varlen(query, key, value, self.boundaries, max(self.lengths))
        return attend_16_bits(query[0], key[0], value[0], self.lengths)[None]


Layout = PaddedLayout | UnpaddedLayout

LAYOUTS: Final[dict[AttentionKernel, Callable[..., Layout]]] = {
    "sdpa": partial(PaddedLayout.of, kernel=attend_sdpa),
    "reference": partial(PaddedLayout.of, kernel=attend_reference),
    "unpadded": UnpaddedLayout.of,
}


SMALLEST_ROW: Final = 12_000
"""Length of a row times hidden size from which the work saved at the padding is more than that of leaving it out."""


def default_kernel(device: torch.device, *, training: bool, row: int) -> AttentionKernel:
    """`unpadded` for training on a CPU unless rows are tiny (`row`: length × hidden size); otherwise `sdpa`.

    A program that is to serve any batch, compiled or exported, must not hold the lengths of one.
    """
    worth_it = training and device.type == "cpu" and row >= SMALLEST_ROW
    return "unpadded" if worth_it and not torch.compiler.is_compiling() else "sdpa"


def example_begins(mask: Mask, sequence_starts: Starts | None) -> Int[Tensor, "B S"]:
    """For each cell of the grid the flat position at which its example begins, or its row where none has begun."""
    begins = _cells(mask)
    begins[:, 1:] = 0
    if sequence_starts is not None:
        begins.view(-1)[sequence_starts] = sequence_starts
    return begins.cummax(1).values


def _cells(mask: Mask) -> Int[Tensor, "B S"]:
    """The flat position of each cell."""
    return torch.arange(mask.numel(), device=mask.device).view(mask.shape)
