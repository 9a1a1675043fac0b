"""Prepacked models against the models they are copies of."""

from typing import get_args

import pytest
import torch

from litebert.model.config import Activation
from litebert.model.kernels.native.library import native_kernels
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForPretraining,
    ForQuestionAnswering,
    ForQuestionAnsweringWithNoAnswer,
    ForSequenceClassification,
    ForTokenClassification,
    SentenceEmbedder,
)
from litebert.model.prepacked import prepacked_layers
from litebert.model.prepacked.prepack import can_prepack, has_operators, prepacked
from support.models.model_builders import MODERN, TokenBatch, padded_mask, perturbed, random_batch
from support.models.native_kernels import BOTH
from support.models.tolerances import within

pytestmark = pytest.mark.skipif(not has_operators("fp32"), reason="torch without oneDNN")
LENGTHS = [3, 9, 1, 9, 24, 3]
VARIANTS = {
    "albert": {},
    "two groups of two": {"num_hidden_groups": 2, "inner_group_num": 2},
    "unshared": {"sharing": "none"},
    "attention shared": {"sharing": "attention"},
    "modern": MODERN,
    "recursion LoRA": {**MODERN, "recursion_lora_rank": 2},
    **{activation: {"hidden_act": activation} for activation in get_args(Activation)},
    "gated": {"gated_feed_forward": True},
    "without biases": {"use_bias": False},
    "mean of tokens": {"classifier_pooling": "mean"},
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def config(request, tiny_config):
    return tiny_config.replace(**request.param)


@pytest.fixture(autouse=True, params=BOTH)
def _kernels(request):
    with native_kernels(enabled=request.param):
        yield


def outputs(model, batch):
    with torch.inference_mode():
        return model(batch.input_ids, batch.attention_mask, batch.token_type_ids).logits


def test_prepacked_model_equals_its_model_in_fp32(config):
    model = perturbed(ForTokenClassification(config, num_labels=3)).eval()
    batch = random_batch(config, padded_mask(LENGTHS))
    found, expected = outputs(prepacked(model, "fp32"), batch), outputs(model, batch)
    torch.testing.assert_close(found[batch.attention_mask], expected[batch.attention_mask], **within())


@pytest.mark.parametrize(("precision", "largest"), [("bf16", 0.05), ("int8", 0.2)])
def test_prepacked_model_is_near_its_model_in_low_precision(config, precision, largest):
    """Of width 32 only, where rounding errors average out less than in models of use."""
    if not has_operators(precision):
        pytest.skip(f"torch has no {precision} products on this processor")
    model = perturbed(ForSequenceClassification(config, num_labels=3)).eval()
    batch = random_batch(config, padded_mask(LENGTHS))
    found, expected = outputs(prepacked(model, precision), batch), outputs(model, batch)
    assert (found - expected).norm() < largest * expected.norm()


@pytest.mark.parametrize(
    ("precision", "rounding"), [("fp32", torch.float32), ("bf16", torch.bfloat16), ("int8", torch.bfloat16)]
)
def test_rows_in_chunks_have_the_results_of_all_rows_at_once(config, precision, rounding, monkeypatch):
    if not has_operators(precision):
        pytest.skip(f"torch has no {precision} products on this processor")
    model = prepacked(perturbed(ForTokenClassification(config, num_labels=3)).eval(), precision)
    batch = random_batch(config, padded_mask(LENGTHS))
    at_once = outputs(model, batch)
    monkeypatch.setattr(prepacked_layers, "CHUNK", 5 * config.intermediate_size)
    torch.testing.assert_close(outputs(model, batch), at_once, **within(rounding))


def test_prepacked_copy_runs_every_model(tiny_config):
    batch = random_batch(tiny_config, padded_mask([5, 9]))
    ids, mask, types = batch.input_ids, batch.attention_mask, batch.token_type_ids
    positions, fours = torch.tensor([1, 10]), (ids[None], mask[None], types[None])
    inputs = {
        ForPretraining(tiny_config): (ids, mask, types, positions),
        ForMaskedLM(tiny_config): (ids, mask, types, positions),
        ForMultipleChoice(tiny_config): fours,
        ForQuestionAnswering(tiny_config): (ids, mask, types),
        ForQuestionAnsweringWithNoAnswer(tiny_config): (ids, mask, types, mask, positions[:1].repeat(2)),
    }
    for model, arguments in inputs.items():
        model.eval()
        with torch.inference_mode():
            found, expected = prepacked(model, "fp32")(*arguments)[0], model(*arguments)[0]
        torch.testing.assert_close(found.flatten()[:2], expected.flatten()[:2], **within())
    embedder = SentenceEmbedder(tiny_config).eval()
    with torch.inference_mode():
        found = prepacked(embedder, "fp32")(ids, mask, types)
        torch.testing.assert_close(found, embedder(ids, mask, types), **within())


@pytest.mark.parametrize("per_layer", [False, True])
def test_prepacked_model_has_its_adapters_in_the_weights(tiny_config, per_layer):
    model = ForSequenceClassification(tiny_config, num_labels=2).eval()
    attach(model, LoRASettings(rank=2, per_layer=per_layer, projections=("query", "value", "down")))
    perturbed(model)
    batch = random_batch(tiny_config, padded_mask(LENGTHS))
    torch.testing.assert_close(outputs(prepacked(model, "fp32"), batch), outputs(model, batch), **within())


def test_prepacked_outputs_of_a_sequence_do_not_depend_on_its_batch(tiny_config):
    model = prepacked(ForSequenceClassification(tiny_config, num_labels=2).eval(), "int8")
    batch = random_batch(tiny_config, padded_mask(LENGTHS))
    together = outputs(model, batch)
    for row, length in enumerate(LENGTHS):
        part = slice(row, row + 1), slice(length)
        alone = outputs(model, TokenBatch(*(tensor[part] for tensor in vars(batch).values())))
        torch.testing.assert_close(alone[0], together[row], **within(depth="compound"))


def test_prepacking_changes_nothing_in_the_model(tiny_config, batch):
    model = ForSequenceClassification(tiny_config, num_labels=2).eval()
    before, names = outputs(model, batch), [name for name, _ in model.named_modules()]
    prepacked(model, "int8")
    assert torch.equal(outputs(model, batch), before)
    assert [name for name, _ in model.named_modules()] == names


def test_model_is_not_prepacked_in_float64_or_with_a_chosen_attention_kernel(tiny_config):
    model = ForSequenceClassification(tiny_config, num_labels=2)
    assert can_prepack(model, "fp32")
    model.encoder.attention_kernel = "reference"
    assert not can_prepack(model, "fp32")
    model.encoder.attention_kernel = None
    assert not can_prepack(model.double(), "fp32")
    assert not can_prepack(torch.nn.Linear(2, 2), "fp32")
