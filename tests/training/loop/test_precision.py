"""The precision is that of matrix products; weights stay in fp32."""

import pytest
import torch

from litebert.device import autocast
from litebert.errors import ConfigError
from litebert.training.loop.step import gradient_scaler

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_autocast_sets_the_precision_of_matrix_products(precision, dtype):
    layer = torch.nn.Linear(2, 2)
    with autocast(precision, CPU):
        assert layer(torch.ones(1, 2)).dtype == dtype
    assert layer.weight.dtype == torch.float32


@pytest.mark.parametrize(("precision", "scales"), [("fp32", False), ("bf16", False), ("fp16", True)])
def test_gradient_scaler_is_enabled_only_for_fp16(precision, scales):
    assert gradient_scaler(precision, CPU).is_enabled() is scales


def test_autocast_needs_a_resolved_precision():
    with pytest.raises(ConfigError, match="expected fp32, bf16 or fp16 here, found auto"):
        autocast("auto", CPU)
