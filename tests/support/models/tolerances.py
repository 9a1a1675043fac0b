"""Tolerances of numeric comparisons, by precision and depth: one table for all tests.

The result of a sum depends on the order of its terms, and that on the processor, its instruction set, the number of
threads and the shape of the batch. So equal computations agree only up to some units in the last place of the values
that are added: 2**-52, 2**-23 and 2**-8 for the three precisions. Rounding errors grow with the number of sums that
follow one another. Tests compare bit by bit only where the same operations run in the same order.

Figures are absolute for outputs, which are normalized or of the order of 1, and relative for larger values.
tests/architecture/test_tolerances.py lists tests with figures of their own.
"""

from typing import Any, Literal

import pytest
import torch

Depth = Literal["operation", "norm", "model", "compound"]

TOLERANCES: dict[Depth, dict[torch.dtype, float]] = {
    # One operation or block: sums of up to some hundred terms, whose errors grow with the root of the number of terms.
    # 8 units in float32, 3 in bfloat16, in which sums are added in float32; float64 has room to spare (4,500).
    "operation": {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 1e-2},
    # The norm of a difference relative to the norm of a whole gradient or output: errors of entries are independent,
    # so that no single entry decides. As one operation, after the forward and backward pass of a model.
    "norm": {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 2e-2},
    # Single entries of a model of the tests: 2 to 6 blocks, each of which adds the errors of about 10 operations, and
    # layer norm may divide by a small deviation. 84 units in float32, 5 in bfloat16. No test has 12 to 24 layers.
    "model": {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2},
    # Computations of several models: entries of gradients, steps of an optimizer, which divides by the square root of
    # small second moments, losses of a whole text, int8 operands that are rounded to another neighbour. Ten times a
    # model in float32, five times in bfloat16; in float64, what is left after a division by 1e-3.
    "compound": {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 1e-1},
}

PROMISED = {
    # The documentation has these figures; they hold on every processor and are not to be raised.
    "outputs": 1e-5,  # of transformers, google-research/albert, exported and served models; R25 and R27
    "gradients": 1e-4,  # of google-research/albert, relative to the norm
    "optimizer": 1e-6,  # weights on the trajectory of LAMB
    "step": 1e-3,  # a training step of LAMB, relative to its length
    "losses": 1e-6,  # after a resume, on other numbers of processes and as recorded, relative; R3 and R14
    "weights": 1e-6,  # after a resume on another number of processes; R3
    "weights of two ranks": 2e-5,  # after six steps of AdamW on two processes and on one
}


def tolerance(precision: torch.dtype = torch.float32, depth: Depth = "model") -> float:
    """The largest difference of equal computations."""
    return TOLERANCES[depth][precision]


def within(precision: torch.dtype = torch.float32, depth: Depth = "model") -> dict[str, float]:
    """The arguments `atol` and `rtol` of comparisons of arrays."""
    return {"atol": tolerance(precision, depth), "rtol": tolerance(precision, depth)}


def close_to(expected: Any, precision: torch.dtype = torch.float32, depth: Depth = "model") -> Any:
    """`expected` up to the tolerance of a precision, to compare with `==`."""
    return pytest.approx(expected, abs=tolerance(precision, depth), rel=tolerance(precision, depth))
