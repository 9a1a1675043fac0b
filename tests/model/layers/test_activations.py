import math
from typing import get_args

import pytest
import torch

from litebert.model.config import Activation
from litebert.model.layers.block import ACTIVATIONS
from support.models.tolerances import tolerance

X = torch.linspace(-4, 4, 33, dtype=torch.float64)
FORMULAS = {
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_new": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("name", get_args(Activation))
def test_activations_equal_their_formulas(name):
    expected = torch.tensor([FORMULAS[name](x) for x in X.tolist()], dtype=torch.float64)
    assert torch.allclose(ACTIVATIONS[name](X), expected, atol=tolerance(torch.float64, "operation"))
