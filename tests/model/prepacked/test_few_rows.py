"""Blocks of few rows in one call of the compiled kernels against the same blocks layer by layer."""

import pytest
import torch

from litebert.model.encoder import run_block
from litebert.model.models import ForPretraining
from litebert.model.prepacked import few_rows
from litebert.model.prepacked.few_rows import BlockRunner
from litebert.model.prepacked.prepack import has_operators, prepacked
from litebert.model.prepacked.prepacked_linear import FEW_ROWS
from support.models.model_builders import MODERN, padded_mask, perturbed, random_batch
from support.models.native_kernels import NEEDS_GCC
from support.models.tolerances import within

pytestmark = [NEEDS_GCC, pytest.mark.skipif(not has_operators("fp32"), reason="torch without oneDNN")]
ONE_CALL = {
    "albert": {},
    "exact GELU": {"hidden_act": "gelu"},
    "modern": MODERN,
    "modern, exact GELU": {**MODERN, "hidden_act": "gelu"},
    "gated": {"gated_feed_forward": True},
    "without biases": {**MODERN, "use_bias": False},
    "unshared": {"sharing": "none"},
}
LAYER_BY_LAYER = {"relu": {"hidden_act": "relu"}, "heads of an odd size": {"hidden_size": 30, "num_attention_heads": 2}}


@pytest.fixture
def calls(monkeypatch):
    """The rows of each block that runs in one call."""
    rows, block = [], few_rows.native_block

    def counted(library, packed, x, *arguments, **options):
        rows.append(x.shape[1])
        return block(library, packed, x, *arguments, **options)

    monkeypatch.setattr(few_rows, "native_block", counted)
    return rows


def states(encoder, batch, *, causal):
    with torch.inference_mode():
        output = encoder(*batch.arguments, causal=causal, output_hidden_states=True)
    return [state[batch.attention_mask] for state in output.hidden_states]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("settings", ONE_CALL.values(), ids=ONE_CALL)
def test_blocks_in_one_call_have_the_states_of_their_layers(settings, causal, threads, tiny_config, calls):
    model = prepacked(perturbed(ForPretraining(tiny_config.replace(**settings))).eval(), "fp32")
    batch = random_batch(model.encoder.config, padded_mask([3, 9, 1, 24]))
    torch.set_num_threads(threads)
    found = states(model.encoder, batch, causal=causal)
    assert calls == [37] * len(model.encoder.schedule)
    model.encoder.run_block = run_block
    expected = states(model.encoder, batch, causal=causal)
    assert calls == [37] * len(model.encoder.schedule)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **within())


@pytest.mark.parametrize("settings", LAYER_BY_LAYER.values(), ids=LAYER_BY_LAYER)
def test_blocks_that_the_kernels_do_not_have_run_layer_by_layer(settings, tiny_config, calls):
    model = perturbed(ForPretraining(tiny_config.replace(**settings))).eval()
    batch = random_batch(model.config, padded_mask([3, 9]))
    found, expected = (states(each.encoder, batch, causal=False) for each in (prepacked(model, "fp32"), model))
    assert not calls
    torch.testing.assert_close(found[-1], expected[-1], **within())


@pytest.mark.parametrize(("lengths", "in_one_call"), [([96], True), ([64, 40], False), ([95], True)])
def test_only_few_rows_run_in_one_call(lengths, in_one_call, tiny_config, calls):
    """95 tokens are rounded up by a row without an example, which changes nothing in the others."""
    model = perturbed(ForPretraining(tiny_config.replace(max_position_embeddings=128))).eval()
    batch = random_batch(model.config, padded_mask(lengths))
    fast = prepacked(model, "fp32")
    found, expected = (states(each.encoder, batch, causal=False) for each in (fast, model))
    assert calls == [FEW_ROWS] * in_one_call * len(model.encoder.schedule)
    torch.testing.assert_close(found[-1], expected[-1], **within())


def test_block_at_chosen_positions_runs_layer_by_layer(tiny_config, calls):
    model = perturbed(ForPretraining(tiny_config)).eval()
    batch = random_batch(tiny_config, padded_mask([3, 9]))
    positions = torch.tensor([1, 10])
    with torch.inference_mode():
        found, expected = (
            each.encoder.at_positions(*batch.arguments, positions=positions)
            for each in (prepacked(model, "fp32"), model)
        )
    assert len(calls) == len(model.encoder.schedule) - 1
    torch.testing.assert_close(found, expected, **within())


def test_rotation_in_another_default_dtype_is_that_of_32_bits(tiny_config, calls):
    model = perturbed(ForPretraining(tiny_config.replace(**MODERN))).eval()
    batch = random_batch(model.config, padded_mask([3, 9]))
    expected = states(model.encoder, batch, causal=False)
    torch.set_default_dtype(torch.float64)
    try:
        found = states(prepacked(model, "fp32").encoder, batch, causal=False)
    finally:
        torch.set_default_dtype(torch.float32)
    assert calls
    torch.testing.assert_close(found[-1], expected[-1], **within())


def test_each_block_is_packed_once(tiny_config):
    model = prepacked(ForPretraining(tiny_config), "fp32")
    runner = model.encoder.run_block
    assert isinstance(runner, BlockRunner)
    batch = random_batch(tiny_config, padded_mask([3]))
    for _ in range(2):
        states(model.encoder, batch, causal=False)
    assert len(runner._packed) == len(set(model.encoder.schedule))
