"""What an objective gives for a microbatch."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class LossSums:
    """Sums (not means) over one microbatch, under the names of the counts of the objective."""

    losses: dict[str, Tensor]
    """Sum of each loss, a scalar."""
    correct: dict[str, Tensor]
    """Number of correct predictions, a scalar; absent for a loss without them, such as regression.

    There may be more names than losses, for correct predictions over a part of the labels."""
