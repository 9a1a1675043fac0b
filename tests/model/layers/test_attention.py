import pytest
import torch

from litebert.model.kernels.attention_kernels import attend_reference
from litebert.model.kernels.layout import LAYOUTS
from litebert.model.layers.block import Attention, BlockInputs
from support.models.tolerances import tolerance

MASK = torch.ones(2, 5, dtype=torch.bool)


@pytest.fixture
def x():
    return torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))


def test_attention_is_post_normalised(tiny_config, x):
    block = Attention(tiny_config)
    query, key, value = (layer(x).unflatten(-1, (4, 8)) for layer in (block.query, block.key, block.value))
    expected = block.norm(x + block.output(attend_reference(query, key, value, MASK[:, None], 0.0).flatten(2)))
    assert torch.allclose(block(x, BlockInputs(LAYOUTS["sdpa"](MASK))), expected, atol=tolerance(depth="operation"))


def test_attention_casts_its_input_once_under_autocast(tiny_config, x):
    block, kept = Attention(tiny_config), {}

    def pack(tensor):
        kept[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16):
        block(x, BlockInputs(LAYOUTS["sdpa"](MASK)))
    casts = [
        tensor
        for tensor in kept.values()
        if tensor.shape == (10, 32) and torch.equal(tensor, x.bfloat16().view(10, 32))
    ]
    assert len(casts) == 1
