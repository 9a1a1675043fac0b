"""What a model does with a batch of examples: a method of `Predictor` with its arguments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

READ_IN_WINDOWS: Final = ("classify_tokens", "answer_batch")
"""Methods that read a long text in several windows with every model."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Requests of equal operations share batches."""

    method: str
    """Of `Predictor`; its first argument is the list of examples."""
    arguments: tuple[tuple[str, Any], ...] = ()
    num_options: int | None = None
    """Of multiple choice, where all examples of a batch have equally many."""

    def __call__(self, predictor: Any, examples: Sequence[Any]) -> Sequence[Any]:
        """The result for each example."""
        return getattr(predictor, self.method)(examples, **dict(self.arguments))

    @property
    def fills_masks(self) -> bool:
        """Whether it predicts the masked tokens, so that a text is never truncated and may be a mask alone."""
        return self.method == "fill_masks"


@dataclass(frozen=True, slots=True)
class OperationInput:
    """One example with the texts that decide how long it is."""

    example: Any
    sequences: Sequence[tuple[str, ...]]
    """The texts of each sequence that the model reads: one of one or two texts, or one for each option."""
    max_last_tokens: int | None = None
    """Tokens of the last text of a sequence that the model reads at most; None: as many as fit."""
