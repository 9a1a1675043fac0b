"""Names for the shapes that every model reads. The letters are explained in `litebert.model` and docs/shapes.md."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Ids = Int[Tensor, "B S"]
"""Token ids, token types or positions of a batch."""
Mask = Bool[Tensor, "B S"]
"""True at the tokens that take part."""
States = Float[Tensor, "B S H"]
"""A vector for each token."""
