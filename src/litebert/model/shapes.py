"""Shaped types of model inputs. The letters are explained in `litebert.model` and docs/reference/shapes.md."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Ids = Int[Tensor, "B S"]
"""Token ids, token types or positions of a batch."""
Mask = Bool[Tensor, "B S"]
"""True at real tokens, False at padding."""
States = Float[Tensor, "B S H"]
"""A vector for each token."""
Starts = Int[Tensor, " X"]
"""Flat positions b·S + s of the first token of each example, ascending, where rows hold several examples."""
AttentionMask = Bool[Tensor, "B Q S"]
"""True where a query attends to a key; Q is S, or 1 where all queries of a sequence attend to the same keys."""
