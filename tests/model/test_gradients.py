"""The gradient of a pretraining batch is equal accumulated, packed, unpadded, compiled and checkpointed."""

from collections.abc import Sequence
from typing import get_args

import pytest
import torch

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import AttentionKernel
from litebert.model.kernels.native.library import native_kernels
from support.models.model_builders import packed_rows, padded_mask, random_batch
from support.models.native_kernels import NEEDS_GCC
from support.models.tolerances import tolerance
from support.models.unchecked import pretraining_gradient

LENGTHS = [9, 5, 12, 3, 7, 12, 4, 8]
ROWS = [[0, 1], [2], [3, 4], [5], [6, 7]]
CONFIG = ModelConfig(
    hidden_size=32,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=48,
    embedding_size=16,
    vocab_size=60,
    max_position_embeddings=24,
    initializer_range=0.1,
)


def batches(rows: Sequence[int], *, packed: list[list[int]] | None = None) -> PretrainBatch:
    """Some of the examples, padded or packed into rows; every third token is masked."""
    everything = random_batch(CONFIG, padded_mask(LENGTHS))
    chosen = type(everything)(*(tensor[list(rows)] for tensor in everything.arguments))
    tokens, starts = (chosen, None) if packed is None else packed_rows(chosen, packed)
    places = tokens.attention_mask.flatten().nonzero()[:, 0]
    predicted = tokens.input_ids.flatten()[places] % 3 == 0
    return PretrainBatch(
        *tokens.arguments,
        masked_positions=places[predicted],
        labels=(tokens.input_ids.flatten()[places[predicted]] + 1) % CONFIG.vocab_size,
        sentence_pair_labels=torch.tensor([row % 2 for row in rows]),
        num_tokens=len(places),
        sequence_starts=starts,
    )


def gradient(parts: Sequence[PretrainBatch], *, kernel: AttentionKernel = "reference", interval=None):
    return pretraining_gradient(CONFIG, parts, kernel, interval, compiled=False)


def assert_equal(ours: torch.Tensor, expected: torch.Tensor) -> None:
    assert (ours - expected).norm() <= tolerance(depth="norm") * expected.norm()


@pytest.fixture(scope="module")
def expected() -> torch.Tensor:
    """The gradient of the whole batch, by the reference kernel."""
    return gradient([batches(range(8))])


def test_gradient_is_not_zero(expected):
    assert expected.norm() > 0.1


@pytest.mark.parametrize("pieces", [1, 2, 4])
@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
@pytest.mark.parametrize("interval", [None, 2])
def test_gradient_is_equal_accumulated_unpadded_and_checkpointed(expected, pieces, kernel, interval):
    size = 8 // pieces
    parts = [batches(range(start, start + size)) for start in range(0, 8, size)]
    assert_equal(gradient(parts, kernel=kernel, interval=interval), expected)


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_gradient_is_equal_with_more_positions_that_have_no_label(expected, monkeypatch, kernel):
    monkeypatch.setattr("litebert.commands.pretrain.pretraining_objective.rounded_up", lambda count: count + 5)
    assert_equal(gradient([batches(range(8))], kernel=kernel), expected)


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
@pytest.mark.parametrize("interval", [None, 2])
def test_gradient_is_equal_with_packed_rows(expected, kernel, interval):
    packed = batches(range(8), packed=ROWS)
    assert_equal(gradient([packed], kernel=kernel, interval=interval), expected)


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_gradient_is_equal_compiled(unchecked, expected, kernel):
    ours = unchecked(pretraining_gradient, CONFIG, [batches(range(8), packed=ROWS)], kernel, 2, True)
    assert_equal(ours, expected)


MODERN = {"norm_first": True, "gated_feed_forward": True, "position_embedding": "rotary", "hidden_act": "gelu"}


@NEEDS_GCC
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("changes", [{}, MODERN, {"hidden_act": "gelu"}], ids=["albert", "modern", "exact gelu"])
def test_gradient_is_equal_with_and_without_native_kernels(changes, precision):
    config = CONFIG.model_copy(update=changes)

    def computed(native: bool) -> torch.Tensor:
        with native_kernels(enabled=native), torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
            return pretraining_gradient(config, [batches(range(8))], "unpadded", None, False)

    ours, expected = computed(True), computed(False)
    assert not torch.equal(ours, expected)
    assert (ours - expected).norm() <= tolerance(precision, "compound") * expected.norm()


def test_gradient_depends_on_label_counts_of_all_parts():
    objective = PretrainingObjective()
    whole, parts = batches(range(8)), [batches(range(3)), batches(range(3, 8))]
    for name, count in objective.counts(whole).items():
        assert sum(objective.counts(part)[name] for part in parts) == count
