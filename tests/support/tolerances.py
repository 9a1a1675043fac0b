"""Tolerances of numeric comparisons, by precision: one table for all tests.

The result of a sum depends on the order of its terms, and that on the processor, its instruction set, the number of
threads and the shape of the batch. So equal computations agree only up to some units in the last place of the values
that are added: 2**-52, 2**-23 and 2**-8 for the three precisions. Each tolerance leaves a factor of 100 (float64,
float32) or 5 (bfloat16, whose rounding errors average out) for the growth over the few blocks of the tests' models.
Tests compare bit by bit only where the same operations run in the same order.
"""

from typing import Any

import pytest
import torch

TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2}
"""Absolute for outputs, which are normalized or of the order of 1; relative to the norm for gradients."""


def close_to(expected: Any, precision: torch.dtype = torch.float32) -> Any:
    """`expected` up to the tolerance of a precision, to compare with `==`."""
    return pytest.approx(expected, abs=TOLERANCES[precision], rel=TOLERANCES[precision])
