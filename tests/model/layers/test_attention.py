import pytest
import torch

from litebert.model.kernels.attention_kernels import attend_reference
from litebert.model.kernels.layout import LAYOUTS
from litebert.model.layers.attention import Attention

MASK = torch.ones(2, 5, dtype=torch.bool)


@pytest.fixture
def x():
    return torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))


def test_attention_is_post_normalised(tiny_config, x):
    block = Attention(tiny_config)
    query, key, value = (layer(x).unflatten(-1, (4, 8)) for layer in (block.query, block.key, block.value))
    expected = block.norm(x + block.output(attend_reference(query, key, value, MASK[:, None], 0.0).flatten(2)))
    assert torch.allclose(block(x, LAYOUTS["sdpa"](MASK)), expected, atol=1e-6)


def test_under_autocast_one_cast_of_the_input_serves_query_key_and_value(tiny_config, x):
    block, kept = Attention(tiny_config), {}

    def pack(tensor):
        kept[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16):
        block(x, LAYOUTS["sdpa"](MASK))
    casts = [
        tensor
        for tensor in kept.values()
        if tensor.shape == (10, 32) and torch.equal(tensor, x.bfloat16().view(10, 32))
    ]
    assert len(casts) == 1


@pytest.mark.parametrize("held", [0, 1, 3])
def test_no_gradient_reaches_query_and_key_of_held_heads(tiny_config, x, held):
    """The last ones; what the block gives is the same, and so are all other gradients."""
    free, block = Attention(tiny_config), Attention(tiny_config)
    block.load_state_dict(free.state_dict())
    block.num_frozen_heads = held
    outputs = [one(x, LAYOUTS["sdpa"](MASK), one.joined()) for one in (free, block)]
    for output in outputs:
        output.square().sum().backward()
    assert torch.equal(*outputs)
    kept = 32 - 8 * held
    for (name, ours), theirs in zip(block.named_parameters(), free.parameters(), strict=True):
        expected = theirs.grad.clone()
        if name.startswith(("query", "key")):
            expected[kept:] = 0
        assert torch.equal(ours.grad, expected), name
