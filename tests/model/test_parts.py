"""The small parts: activations, embeddings, attention, feed-forward, head, against their formulas."""

import math
from typing import get_args

import pytest
import torch

from litebert.model.activations import ACTIVATIONS
from litebert.model.attention import Attention
from litebert.model.config import Activation
from litebert.model.embeddings import Embeddings
from litebert.model.feed_forward import FeedForward
from litebert.model.heads import MaskedLMHead
from litebert.model.kernels import attend_reference
from litebert.model.layout import LAYOUTS

X = torch.linspace(-4, 4, 33, dtype=torch.float64)
FORMULAS = {
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_new": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("name", get_args(Activation))
def test_each_activation_is_its_formula(name):
    expected = torch.tensor([FORMULAS[name](x) for x in X.tolist()], dtype=torch.float64)
    assert torch.allclose(ACTIVATIONS[name](X), expected, atol=1e-12)


def test_embeddings_are_the_normalised_sum_of_three_tables(tiny_config):
    embeddings = Embeddings(tiny_config)
    ids, types, positions = torch.tensor([[5, 7]]), torch.tensor([[0, 1]]), torch.tensor([[3, 0]])
    summed = embeddings.word.weight[[5, 7]] + embeddings.token_type.weight[[0, 1]] + embeddings.position.weight[[3, 0]]
    assert torch.allclose(embeddings(ids, types, positions)[0], embeddings.norm(summed))


def test_attention_is_post_normalised(tiny_config):
    block, x = Attention(tiny_config), torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(2, 5, dtype=torch.bool)
    query, key, value = (layer(x).unflatten(-1, (4, 8)) for layer in (block.query, block.key, block.value))
    expected = block.norm(x + block.output(attend_reference(query, key, value, mask, 0.0).flatten(2)))
    assert torch.allclose(block(x, LAYOUTS["sdpa"](mask)), expected, atol=1e-6)


@pytest.mark.parametrize("name", get_args(Activation))
def test_feed_forward_is_post_normalised(tiny_config, name):
    block = FeedForward(tiny_config.replace(hidden_act=name))
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(block(x), block.norm(x + block.down(ACTIVATIONS[name](block.up(x)))))


@pytest.mark.parametrize("name", get_args(Activation))
def test_the_head_scores_by_the_word_embeddings_and_its_bias(tiny_config, name):
    head = MaskedLMHead(tiny_config.replace(hidden_act=name))
    x, table = torch.randn(3, 32, generator=torch.Generator().manual_seed(0)), torch.eye(60)[:, :16]
    torch.nn.init.constant_(head.bias, 2)
    hidden = head.norm(ACTIVATIONS[name](head.dense(x)))
    assert torch.allclose(head(x, table), hidden @ table.T + 2)
