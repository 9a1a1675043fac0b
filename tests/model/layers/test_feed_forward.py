from typing import get_args

import pytest
import torch

from litebert.model.config import Activation
from litebert.model.layers.block import ACTIVATIONS, FeedForward


@pytest.mark.parametrize("name", get_args(Activation))
def test_feed_forward_is_post_normalised(tiny_config, name):
    block = FeedForward(tiny_config.replace(hidden_act=name))
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(block(x), block.norm(x + block.down(ACTIVATIONS[name](block.up(x)))))
