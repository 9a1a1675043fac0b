"""How a batch lies in memory. Before: the attention mask. After: every block works on one layout from start to end.

On the grid every position is computed, padding too. Packed, the real tokens lie end to end as one long row (the batch
axis has length 1), so that padding costs nothing; the grid comes back at the end, with zeros at the padding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from litebert.model.kernels import attend_by_length, attend_reference, attend_sdpa, attend_varlen

AttentionKernel = Literal["sdpa", "reference", "unpadded"]
"""`sdpa`: torch's fused attention on the grid; `reference`: the definition, on the grid; `unpadded`: real tokens."""


@dataclass(frozen=True)
class Grid:
    """Every position of the batch, padding too."""

    mask: Bool[Tensor, "B S"]
    kernel: Callable[..., Tensor]

    @property
    def positions(self) -> Int[Tensor, "1 S"]:
        """0, 1, 2, … for every sequence."""
        return torch.arange(self.mask.shape[1], device=self.mask.device)[None]

    def pack(self, grid: Shaped[Tensor, "B S"]) -> Shaped[Tensor, "B S"]:
        """The values as they are."""
        return grid

    def unpack(self, packed: Float[Tensor, "B S W"]) -> Float[Tensor, "B S W"]:
        """The vectors as they are."""
        return packed

    def attend(
        self,
        query: Float[Tensor, "B S A D"],
        key: Float[Tensor, "B S A D"],
        value: Float[Tensor, "B S A D"],
        *,
        dropout: float,
    ) -> Float[Tensor, "B S A D"]:
        """Attention over the keys where the mask is True."""
        return self.kernel(query, key, value, self.mask, dropout)


@dataclass(frozen=True)
class Packed:
    """Only the real tokens, sequence after sequence."""

    mask: Bool[Tensor, "B S"]
    indices: Int[Tensor, " N"]
    boundaries: Int[Tensor, " sequences_plus_1"]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, mask: Bool[Tensor, "B S"]) -> "Packed":
        """Layout of a batch; sequences without a token vanish. Reads the lengths: CUDA has to wait."""
        lengths = tuple(length for length in mask.sum(1).tolist() if length) or (0,)
        starts = torch.tensor([0, *lengths], dtype=torch.int32, device=mask.device).cumsum(0, dtype=torch.int32)
        return cls(mask=mask, indices=mask.flatten().nonzero()[:, 0], boundaries=starts, lengths=lengths)

    @property
    def positions(self) -> Int[Tensor, "1 N"]:
        """Where each token stood in its sequence."""
        return (self.indices % self.mask.shape[1])[None]

    def pack(self, grid: Shaped[Tensor, "B S"]) -> Shaped[Tensor, "1 N"]:
        """The values of the real tokens."""
        return grid.flatten()[self.indices][None]

    def unpack(self, packed: Float[Tensor, "1 N W"]) -> Float[Tensor, "B S W"]:
        """The vectors where their tokens stood, zeros at the padding."""
        grid = packed.new_zeros(self.mask.numel(), packed.shape[-1])
        return grid.index_copy(0, self.indices, packed[0]).view(*self.mask.shape, -1)

    @torch.compiler.disable  # the lengths of a batch are Python numbers: each batch would be a new program
    def attend(
        self,
        query: Float[Tensor, "1 N A D"],
        key: Float[Tensor, "1 N A D"],
        value: Float[Tensor, "1 N A D"],
        *,
        dropout: float,
    ) -> Float[Tensor, "1 N A D"]:
        """Attention inside each sequence."""
        if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16) and not dropout:
            return attend_varlen(query, key, value, self.boundaries, max(self.lengths))
        return attend_by_length(query, key, value, self.lengths, dropout)


Layout = Grid | Packed

LAYOUTS: Final[dict[AttentionKernel, Callable[[Tensor], Layout]]] = {
    "sdpa": lambda mask: Grid(mask, attend_sdpa),
    "reference": lambda mask: Grid(mask, attend_reference),
    "unpadded": Packed.of,
}
