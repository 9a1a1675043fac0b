"""Packed examples have the outputs of the examples alone, with every kernel, compiled and checkpointed."""

from typing import get_args

import pytest
import torch

from litebert.model.kernels.layout import AttentionKernel
from litebert.model.models import ForPretraining
from support.models.model_builders import packed_rows, padded_mask, random_batch
from support.models.tolerances import tolerance
from support.models.unchecked import packed_difference

LENGTHS, ROWS = [5, 3, 9, 1, 6], [[0, 1], [2], [3, 4]]


def outputs_and_gradients(config, kernel: AttentionKernel, arguments, predicted, *, interval=None):
    model = ForPretraining(config, seed=0).double()
    model.encoder.attention_kernel, model.encoder.activation_checkpoint_interval = kernel, interval
    output = model(*arguments[:3], predicted, *arguments[3:])
    loss = output.mlm_logits.square().sum() + output.sentence_pair_logits[:, 0].square().sum()
    loss.backward()
    return [output.mlm_logits, output.sentence_pair_logits, *(parameter.grad for parameter in model.parameters())]


@pytest.fixture
def alone(tiny_config):
    return random_batch(tiny_config, padded_mask(LENGTHS))


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
@pytest.mark.parametrize("interval", [None, 2])
def test_packed_examples_give_the_outputs_and_gradients_they_give_alone(tiny_config, alone, kernel, interval):
    packed, starts = packed_rows(alone, ROWS)
    everywhere = [batch.attention_mask.flatten().nonzero()[:, 0] for batch in (alone, packed)]
    expected = outputs_and_gradients(tiny_config, "reference", alone.arguments, everywhere[0])
    ours = outputs_and_gradients(tiny_config, kernel, (*packed.arguments, starts), everywhere[1], interval=interval)
    for value, other in zip(ours, expected, strict=True):
        assert (value - other).norm() <= tolerance(torch.float64, "norm") * max(1, other.norm())


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_packed_examples_do_not_depend_on_their_neighbours(tiny_config, alone, kernel):
    model = ForPretraining(tiny_config)
    model.encoder.attention_kernel = kernel
    packed, starts = packed_rows(alone, ROWS)
    before = model.encoder(*packed.arguments, starts)
    packed.input_ids[0, 5:8] = 7
    after = model.encoder(*packed.arguments, starts)
    assert torch.equal(after.pooled[[0, 2, 3, 4]], before.pooled[[0, 2, 3, 4]])
    assert not torch.equal(after.pooled[1], before.pooled[1])


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_packed_rows_can_be_compiled(unchecked, tiny_config, kernel):
    assert unchecked(packed_difference, tiny_config, kernel, LENGTHS, ROWS) < tolerance()
