"""Weights in bytes."""

import numpy as np
import pytest

from litebert.export.weight_formats import LARGEST, ZERO_POINT, quantized_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_bytes_are_off_by_at_most_half_a_step_of_the_scale_that_is_stored(dtype):
    """Also where the scale is rounded to 16 bits, except for values beyond the largest byte."""
    values = np.random.default_rng(0).normal(size=(50, 200)).astype(np.float32)
    quantized, scales = quantized_rows(values, dtype=dtype)
    steps = values / scales.astype(np.float32)[:, None]
    errors = np.abs(quantized.astype(np.float32) - ZERO_POINT - steps)
    assert scales.dtype == dtype
    assert errors[np.abs(steps) <= LARGEST].max() <= 0.501
