"""Too little memory, in a sentence. Before: `trainer.py` does a step inside it. After: the setting that needs less."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from litebert.errors import LitebertError
from litebert.training.protocols import Batch

_ALLOCATORS = ("can't allocate memory", "not enough memory", "out of memory")
"""What torch's allocators say, of the CPU on Linux and Windows and of an accelerator."""


class OutOfMemoryError(LitebertError):
    """A step that needs more memory than the device has; `examples` were in its largest microbatch."""

    def __init__(self, message: str, *, examples: int) -> None:
        super().__init__(message)
        self.examples = examples


@contextmanager
def explained_memory(microbatches: Sequence[Batch], device: torch.device) -> Iterator[None]:
    """Turn a failed allocation into an OutOfMemoryError that says what to set."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not (isinstance(error, MemoryError) or any(words in str(error) for words in _ALLOCATORS)):
            raise
        examples = max(batch.num_examples for batch in microbatches)
        raise OutOfMemoryError(
            f"out of memory: a microbatch of {examples} examples needs more than {device} has; {_advice(examples)}",
            examples=examples,
        ) from error


def _advice(examples: int) -> str:
    if examples > 1:
        return f"set microbatch_size={examples // 2}, which gives the same gradient"
    return "shorten the examples, keep fewer activations, or take a smaller model"
