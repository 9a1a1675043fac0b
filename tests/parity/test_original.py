"""The original TensorFlow code and this one on the same weights and batch: see golden/README.md.

Known difference: the gradient of every key bias is 0 in exact arithmetic (it shifts all scores of a row alike), so the
stored one is rounding noise around 1e-10; hence the absolute tolerance of the gradients.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from litebert.interop.tensorflow import read_original
from litebert.model.layout import LAYOUTS
from litebert.model.losses import classification_loss, masked_lm_loss
from litebert.model.models import ForPretraining
from litebert.model.names import tensor_names

GOLDEN = Path(__file__).parent / "golden"
MODELS = ("all_shared", "inner_group_2", "not_shared_E_equals_H", "relu", "two_groups")
VALUES, GRADIENTS, NOISE = 1e-5, 1e-4, 1e-9
"""Absolute for values, in both precisions; relative for the norm of a gradient, above an absolute noise per element."""


class Golden:
    """One model, its batch, and what the original code computed."""

    def __init__(self, name: str, dtype: torch.dtype) -> None:
        with np.load(GOLDEN / name / "expected.npz") as arrays:
            self.expected = {key: torch.from_numpy(arrays[key]) for key in arrays.files}
        original = read_original(GOLDEN / name)
        self.model = ForPretraining(original.description.config)
        self.model.load_state_dict(original.renamed.tensors)
        self.model.to(dtype)
        self.model.encoder.attention_kernel = "sdpa"  # which computes the padding too, as the original does

    @property
    def batch(self) -> tuple[Tensor, Tensor, Tensor]:
        mask = self.expected["attention_mask"].bool()
        return self.expected["input_ids"], mask, self.expected["token_type_ids"]

    @property
    def flat_positions(self) -> Tensor:
        rows, length = self.expected["input_ids"].shape
        return (self.expected["masked_lm_positions"] + torch.arange(rows)[:, None] * length).flatten()

    def losses(self, output) -> tuple[Tensor, Tensor]:
        """The original's means, from summed losses and counts; its MLM count has 1e-5 added."""
        weights = self.expected["masked_lm_weights"].flatten()
        labels = self.expected["masked_lm_ids"].flatten().masked_fill(weights == 0, -100)
        orders = self.expected["sentence_order_labels"][:, 0]
        mlm = masked_lm_loss(output.mlm_logits, labels) / (weights.sum() + 1e-5)
        return mlm, classification_loss(output.sop_logits, orders) / len(orders)


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
    assert (ours - expected).abs().max().item() <= VALUES


def test_every_layer_is_the_originals(golden):
    with torch.no_grad():
        output = golden.model.encoder(*golden.batch, output_hidden_states=True)
    assert_close(output.embedding_output, golden.expected["embedding_output"])
    assert_close(torch.stack(output.hidden_states[1:]), golden.expected["all_layers"])
    assert_close(output.last_hidden_state, golden.expected["sequence_output"])
    assert_close(output.pooled, golden.expected["pooled_output"])


def test_both_losses_and_all_log_probabilities_are_the_originals(golden):
    with torch.no_grad():
        output = golden.model(*golden.batch, golden.flat_positions)
    mlm, sop = golden.losses(output)
    assert_close(mlm, golden.expected["mlm_loss"])
    assert_close(sop, golden.expected["sop_loss"])
    assert_close(output.mlm_logits.log_softmax(-1), golden.expected["mlm_log_probs"])
    assert_close(output.sop_logits.log_softmax(-1), golden.expected["sop_log_probs"])


def test_the_loss_of_each_prediction_is_the_originals(golden):
    with torch.no_grad():
        logits = golden.model(*golden.batch, golden.flat_positions).mlm_logits
    labels = golden.expected["masked_lm_ids"].flatten()
    losses = torch.stack([masked_lm_loss(logits[[row]], labels[[row]]) for row in range(len(labels))])
    assert_close(losses, golden.expected["mlm_example_loss"])


def test_every_gradient_is_the_originals(golden):
    golden.model.zero_grad()
    sum(golden.losses(golden.model(*golden.batch, golden.flat_positions))).backward()
    parameters = dict(golden.model.named_parameters())
    rows = {row.tensorflow: row for row in tensor_names(golden.model.config) if row.ours in parameters}
    stored = {key.removeprefix("grad/"): value for key, value in golden.expected.items() if key.startswith("grad/")}
    assert stored.keys() == rows.keys()
    assert {row.ours for row in rows.values()} == parameters.keys()
    for variable, expected in stored.items():
        gradient = parameters[rows[variable].ours].grad
        ours = gradient.T if rows[variable].transposed else gradient
        allowed = GRADIENTS * expected.norm().item() + NOISE * expected.numel() ** 0.5
        assert (ours - expected).norm().item() <= allowed, variable


@pytest.mark.parametrize("kernel", LAYOUTS)
def test_every_kernel_gives_the_originals_layers_at_the_real_tokens(name, kernel):
    golden = load(name, torch.float32)
    golden.model.encoder.attention_kernel = kernel
    with torch.no_grad():
        output = golden.model.encoder(*golden.batch, output_hidden_states=True)
    golden.model.encoder.attention_kernel = "sdpa"
    real = golden.batch[1]
    assert_close(torch.stack(output.hidden_states[1:])[:, real], golden.expected["all_layers"][:, real])


def test_all_five_models_of_the_original_are_here():
    assert tuple(sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())) == MODELS
