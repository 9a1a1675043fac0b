"""Causal attention: no later token changes an earlier output, in any layout, padded, unpadded and packed."""

from typing import get_args

import pytest
import torch

from litebert.model.kernels.layout import AttentionKernel
from litebert.model.models import ForPretraining
from support.models.model_builders import MODERN, fresh_encoder, packed_rows, padded_mask, perturbed, random_batch
from support.models.tolerances import tolerance

KERNELS = pytest.mark.parametrize("kernel", get_args(AttentionKernel))
ATOL = tolerance()


@pytest.fixture(params=[{}, MODERN], ids=["albert", "modern"])
def encoder(request, tiny_config):
    return perturbed(fresh_encoder(tiny_config.replace(**request.param))).eval()


@KERNELS
def test_causal_output_is_that_of_the_tokens_so_far(encoder, batch, kernel):
    encoder.attention_kernel = kernel
    whole = encoder(*batch.arguments, causal=True).last_hidden_state
    for length in range(1, 10):
        prefix = [tensor[:1, :length] for tensor in batch.arguments]
        expected = encoder(*prefix, causal=True).last_hidden_state[0]
        assert torch.allclose(whole[0, :length], expected, atol=ATOL)
    assert not torch.allclose(whole[0], encoder(*batch.arguments).last_hidden_state[0], atol=ATOL)


@KERNELS
def test_causal_outputs_of_packed_examples_are_those_of_each_alone(encoder, batch, kernel):
    encoder.attention_kernel = kernel
    packed, starts = packed_rows(batch, [[0, 1], [2]])
    alone = encoder(*batch.arguments, causal=True).last_hidden_state[batch.attention_mask]
    together = encoder(*packed.arguments, starts, causal=True).last_hidden_state[packed.attention_mask]
    assert torch.allclose(together, alone, atol=ATOL)


@KERNELS
def test_causal_gradient_reaches_no_later_token_of_a_packed_row(tiny_config, kernel):
    encoder = fresh_encoder(tiny_config)
    encoder.attention_kernel = kernel
    batch = random_batch(tiny_config, padded_mask([9, 5]))
    packed, starts = packed_rows(batch, [[0, 1]])
    embedded = []
    encoder.embeddings.register_forward_hook(lambda module, inputs, output: embedded.append(output))
    state = encoder.at_positions(*packed.arguments, torch.tensor([11]), starts, causal=True)
    embedded[0].retain_grad()
    state.pow(3).sum().backward()  # the sum of squares of a normalized vector is constant
    reached = embedded[0].grad[0].abs().sum(-1) > 0
    assert [at for at in range(14) if reached[at]] == [9, 10, 11]


def test_causal_pretraining_model_is_the_causal_encoder_and_the_head(tiny_config, batch):
    model = ForPretraining(tiny_config).eval()
    positions = torch.tensor([0, 3, 9])
    states = model.encoder.at_positions(*batch.arguments, positions, causal=True)
    expected = model.mlm(states, model.encoder.embeddings.word.weight)
    assert torch.allclose(model(*batch.arguments, positions, causal=True).mlm_logits, expected, atol=ATOL)
