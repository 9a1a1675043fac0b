"""litebert and google-research/albert with the same weights and batch: see golden/README.md.

Known difference: the gradient of every key bias is 0 in exact arithmetic (it shifts all scores of a row alike), so the
stored one is rounding noise around 1e-10; hence the absolute tolerance of the gradients.
"""

from functools import cache

import pytest
import torch
from torch import Tensor

from litebert.model.io.tensor_names import tensor_names
from litebert.model.kernels.layout import LAYOUTS
from litebert.model.losses import classification_loss
from support.models.golden import GOLDEN, MODELS, Golden
from support.models.tolerances import PROMISED

NOISE = 1e-9
"""Absolute, for each element of a gradient."""


@cache
def load(name: str, dtype: torch.dtype) -> Golden:
    return Golden(name, dtype)


@pytest.fixture(params=MODELS)
def name(request) -> str:
    return request.param


@pytest.fixture(params=[torch.float32, torch.float64], ids=str)
def golden(name, request) -> Golden:
    return load(name, request.param)


def assert_close(ours: Tensor, expected: Tensor) -> None:
    assert ours.shape == expected.shape
    assert (ours - expected).abs().max().item() <= PROMISED["outputs"]


def test_hidden_states_equal_the_reference(golden):
    with torch.no_grad():
        output = golden.model.encoder(*golden.batch, output_hidden_states=True)
    assert_close(output.embedding_output, golden.expected["embedding_output"])
    assert_close(torch.stack(output.hidden_states[1:]), golden.expected["all_layers"])
    assert_close(output.last_hidden_state, golden.expected["sequence_output"])
    assert_close(output.pooled, golden.expected["pooled_output"])


def test_losses_and_log_probabilities_equal_the_reference(golden):
    with torch.no_grad():
        output = golden.model(*golden.batch, golden.flat_positions)
    mlm, sop = golden.losses()
    assert_close(mlm, golden.expected["mlm_loss"])
    assert_close(sop, golden.expected["sop_loss"])
    assert_close(output.mlm_logits.log_softmax(-1), golden.expected["mlm_log_probs"])
    assert_close(output.sentence_pair_logits.log_softmax(-1), golden.expected["sop_log_probs"])


def test_loss_of_each_prediction_equals_the_reference(golden):
    with torch.no_grad():
        logits = golden.model(*golden.batch, golden.flat_positions).mlm_logits
    labels = golden.expected["masked_lm_ids"].flatten()
    losses = torch.stack([classification_loss(logits[[row]], labels[[row]]) for row in range(len(labels))])
    assert_close(losses, golden.expected["mlm_example_loss"])


def test_gradients_equal_the_reference(golden):
    golden.model.zero_grad()
    sum(golden.losses()).backward()
    parameters = dict(golden.model.named_parameters())
    rows = {row.tensorflow: row for row in tensor_names(golden.model.config) if row.litebert in parameters}
    stored = {key.removeprefix("grad/"): value for key, value in golden.expected.items() if key.startswith("grad/")}
    assert stored.keys() == rows.keys()
    assert {row.litebert for row in rows.values()} == parameters.keys()
    for variable, expected in stored.items():
        gradient = parameters[rows[variable].litebert].grad
        ours = gradient.T if rows[variable].transposed else gradient
        allowed = PROMISED["gradients"] * expected.norm().item() + NOISE * expected.numel() ** 0.5
        assert (ours - expected).norm().item() <= allowed, variable


@pytest.mark.parametrize("kernel", LAYOUTS)
def test_attention_kernels_equal_the_reference_at_real_tokens(name, kernel):
    golden = load(name, torch.float32)
    golden.model.encoder.attention_kernel = kernel
    with torch.no_grad():
        output = golden.model.encoder(*golden.batch, output_hidden_states=True)
    golden.model.encoder.attention_kernel = "sdpa"
    real = golden.batch[1]
    assert_close(torch.stack(output.hidden_states[1:])[:, real], golden.expected["all_layers"][:, real])


def test_reference_models_are_all_tested():
    assert tuple(sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())) == MODELS
