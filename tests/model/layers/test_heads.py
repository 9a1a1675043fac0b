from typing import get_args

import pytest
import torch

from litebert.model.config import Activation
from litebert.model.layers.block import ACTIVATIONS
from litebert.model.models import MaskedLMHead


@pytest.mark.parametrize("name", get_args(Activation))
def test_masked_lm_head_uses_the_word_embeddings_and_its_bias(tiny_config, name):
    head = MaskedLMHead(tiny_config.replace(hidden_act=name))
    x, table = torch.randn(3, 32, generator=torch.Generator().manual_seed(0)), torch.eye(60)[:, :16]
    torch.nn.init.constant_(head.bias, 2)
    hidden = head.norm(ACTIVATIONS[name](head.dense(x)))
    assert torch.allclose(head(x, table), hidden @ table.T + 2)
