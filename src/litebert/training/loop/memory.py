"""Memory: what is used and left, the peak of a block, and out-of-memory errors that say what to change."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from litebert.errors import LitebertError
from litebert.machine import (
    available_memory,
    is_failed_allocation,
    peak_process_memory,
    process_memory,
    reset_peak_process_memory,
)
from litebert.training.protocols import Batch


class OutOfMemoryError(LitebertError):
    """A step needs more memory than the device has; `examples` is the size of its largest microbatch."""

    exit_code = 4

    def __init__(self, message: str, *, examples: int) -> None:
        super().__init__(message)
        self.examples = examples


@contextmanager
def translate_memory_errors(microbatches: Sequence[Batch], device: torch.device) -> Iterator[None]:
    """Raise an OutOfMemoryError for a failed allocation inside the block."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_failed_allocation(error):
            raise
        examples = max(batch.num_examples for batch in microbatches)
        raise OutOfMemoryError(
            f"out of memory: a microbatch of {examples} examples does not fit on {device}; {_advice(examples)}",
            examples=examples,
        ) from error


def _advice(examples: int) -> str:
    if examples > 1:
        return (
            "halve microbatch_size, which gives the same gradient apart from dropout, and start the same command again"
        )
    return (
        "recompute activations (compute.activation_checkpoint_interval=1), shorten the examples, or use a smaller model"
    )


class PeakMemory:
    """The peak of memory inside a block, beyond what was used before it, in bytes.

    On a CUDA device, what torch has allocated; on the CPU, the resident set of the process; 0 if not available.
    """

    def __init__(self, device: torch.device) -> None:
        self.bytes = 0
        self._device = device
        self._before = 0

    def __enter__(self) -> "PeakMemory":
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
            self._before = torch.cuda.memory_allocated(self._device)
        else:
            reset_peak_process_memory()
            self._before = process_memory()
        return self

    def __exit__(self, *error: object) -> None:
        if self._device.type == "cuda":
            peak = torch.cuda.max_memory_allocated(self._device)
        else:
            peak = peak_process_memory()
        self.bytes = max(0, peak - self._before)


def memory_used(device: torch.device) -> int:
    """Bytes: on a CUDA device the peak of torch's allocations, on the CPU the resident set; 0 if not available."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else process_memory()


def memory_left(device: torch.device) -> int | None:
    """Bytes of `device` that are free; None if not available."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return available_memory()
