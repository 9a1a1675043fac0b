"""Structured initialization: what heads attend to, inner products of token vectors, norms of the subspaces."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.initialization.embedding_subspaces import (
    MAX_FREQUENCY,
    MIN_FREQUENCY,
    POSITION_NORM_RATIO,
    SEGMENT_NORM_RATIO,
    EmbeddingSubspaces,
    sinusoid_frequencies,
)
from litebert.model.initialization.head_patterns import num_duplicate_token_heads, relative_position_heads
from litebert.model.initialization.structured_init import structured_init_
from litebert.model.kernels.layout import LAYOUTS
from litebert.model.layers.block import BlockInputs
from litebert.model.models import ForPretraining
from support.models.tolerances import tolerance

VOCAB = 50


def config_of(**changed) -> ModelConfig:
    values = {
        "vocab_size": VOCAB,
        "embedding_size": 128,
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
        "initializer_range": 0.05,
    }
    return ModelConfig.parse({**values, **changed}, where="test")


def vectors_of(width: int = 97) -> torch.Tensor:
    return torch.randn(VOCAB, width, generator=torch.Generator().manual_seed(0)) + 3


def structured(
    config: ModelConfig | None = None, vectors: torch.Tensor | None = None, *, seed: int = 0
) -> ForPretraining:
    model = ForPretraining(config or config_of(), seed=0)
    structured_init_(model, vectors_of() if vectors is None else vectors, torch.arange(float(VOCAB)), seed=seed)
    return model.eval()


@torch.no_grad()
def probabilities(model: ForPretraining, ids: torch.Tensor, segments: torch.Tensor, block: int = 0) -> torch.Tensor:
    """Attention probabilities A S S of a block on the embeddings of one sequence."""
    encoder, mask = model.encoder, torch.ones_like(ids, dtype=torch.bool)
    x = encoder.projection(encoder.embeddings(ids, segments, torch.arange(ids.shape[1])[None]))
    return encoder.attentions[block].probabilities(x, mask, BlockInputs(LAYOUTS["sdpa"](mask)))[0]


@pytest.mark.parametrize(
    ("heads", "offsets", "duplicates"),
    [
        (1, [-1], 0),
        (2, [-1, 1], 0),
        (3, [-1, 1, -2], 0),
        (4, [-1, 1], 2),
        (5, [-1, 1, -2], 2),
        (12, [-1, 1, -2, 2, -3, 3], 2),
    ],
)
def test_relative_position_heads_are_all_below_four_heads_else_half(heads, offsets, duplicates):
    assert relative_position_heads(heads) == offsets
    assert num_duplicate_token_heads(heads) == duplicates


def test_heads_without_a_pattern_keep_random_query_and_key():
    config = config_of(num_attention_heads=8)
    block, plain = structured(config).encoder.attentions[0], ForPretraining(config, seed=0).encoder.attentions[0]
    rows = slice(4 * config.head_size, 6 * config.head_size)
    for name in ("query", "key"):
        torch.testing.assert_close(getattr(block, name).weight[rows], 0.3 * getattr(plain, name).weight[rows])
        assert (getattr(block, name).weight[rows.stop :] != 0.3 * getattr(plain, name).weight[rows.stop :]).any()


@pytest.mark.parametrize("hidden_size", [128, 256], ids=["no projection", "projection"])
@pytest.mark.parametrize("sharing", ["all", "none"])
def test_relative_position_heads_attend_to_the_position_at_their_offset(hidden_size, sharing):
    """All tokens differ, so a duplicate-token head would attend elsewhere."""
    config = config_of(hidden_size=hidden_size, sharing=sharing)
    model, ids, positions = structured(config), torch.arange(40)[None], torch.arange(2, 38)
    for block in range(len(model.encoder.attentions)):
        found = probabilities(model, ids, torch.zeros_like(ids), block)
        for head, offset in enumerate(relative_position_heads(4)):
            assert found[head, positions, positions + offset].median() > 0.8


@pytest.mark.parametrize("hidden_size", [128, 256], ids=["no projection", "projection"])
def test_duplicate_token_heads_attend_to_the_equal_token_of_the_other_segment(hidden_size):
    """Not to the query itself, nor to an equal token of its own segment."""
    first = torch.randperm(40, generator=torch.Generator().manual_seed(1))[:12]
    ids = torch.cat([first, first[:3], first.flip(0)])[None]
    segments = torch.tensor([[0] * 15 + [1] * 12])
    found = probabilities(structured(config_of(hidden_size=hidden_size)), ids, segments)
    for head in (2, 3):
        attended = ids[0, 15 + found[head, :15, 15:].argmax(-1)]
        assert (attended == ids[0, :15]).float().mean() > 0.8
        assert (found[head, :15, 15:].sum(-1) > 0.8).float().mean() > 0.8


def test_structured_init_keeps_a_part_of_the_random_weights():
    """Two stored blocks differ, and the values are unchanged."""
    config = config_of(sharing="none")
    found, fresh = structured(config).encoder, ForPretraining(config, seed=0).encoder
    first, second = found.attentions
    assert not torch.equal(first.query.weight, second.query.weight)
    assert torch.equal(first.value.weight, fresh.attentions[0].value.weight)


@given(width=st.integers(8, 200))
def test_embedding_subspaces_cover_all_columns(width):
    subspaces = EmbeddingSubspaces.of(config_of(embedding_size=width))
    assert subspaces.num_frequencies > 0
    assert subspaces.num_token_columns > width / 2
    assert subspaces.segment_column + 1 + subspaces.num_token_columns == width


@pytest.mark.parametrize(("embedding_size", "heads"), [(8, 2), (9, 4), (16, 32)], ids=str)
@pytest.mark.parametrize("hidden_size", [32, 128], ids=["32 wide", "128 wide"])
def test_structured_init_is_finite_at_odd_and_small_sizes(embedding_size, heads, hidden_size):
    """A head of one row holds a segment or nothing."""
    config = config_of(embedding_size=embedding_size, num_attention_heads=heads, hidden_size=hidden_size)
    for tensor in structured(config, vectors_of(5)).state_dict().values():
        assert torch.isfinite(tensor).all()


def test_structured_init_allows_a_hidden_size_below_the_embedding_size():
    assert torch.isfinite(structured(config_of(hidden_size=32)).encoder.projection.weight).all()


def test_embedding_subspaces_refuse_a_small_embedding_size():
    with pytest.raises(ConfigError, match=r"model\.embedding_size: 7 columns .* at least 8, or init=random"):
        EmbeddingSubspaces.of(config_of(embedding_size=7))


def test_sinusoid_frequencies_are_a_geometric_sequence():
    angles = sinusoid_frequencies(15)
    assert angles[0] == pytest.approx(MAX_FREQUENCY)
    assert angles[-1] == pytest.approx(MIN_FREQUENCY)
    torch.testing.assert_close(angles[1:] / angles[:-1], (angles[1] / angles[0]).expand(14))
    assert sinusoid_frequencies(1).tolist() == pytest.approx([MAX_FREQUENCY])


def test_structured_embeddings_have_their_norms_in_disjoint_columns():
    embeddings = structured().encoder.embeddings
    subspaces = EmbeddingSubspaces.of(config_of())
    token, position, segment = (
        table.weight.square().sum(1).mean() for table in (embeddings.word, embeddings.position, embeddings.token_type)
    )
    assert (position / token).item() == pytest.approx(POSITION_NORM_RATIO, rel=0.02)
    assert (segment / token).item() == pytest.approx(SEGMENT_NORM_RATIO, rel=0.02)
    used = [table.weight.abs().sum(0) > 0 for table in (embeddings.position, embeddings.token_type, embeddings.word)]
    assert torch.stack(used).sum(0).tolist() == [1] * 128
    assert used[1].nonzero().tolist() == [[subspaces.segment_column]]


@pytest.mark.parametrize("width", [8, 97])
def test_token_embeddings_keep_the_inner_products_of_centred_vectors(width):
    vectors = vectors_of(width)
    table = structured(vectors=vectors).encoder.embeddings.word.weight.detach()
    centred = vectors - vectors.mean(0)
    factor = (table @ table.T).trace() / (centred @ centred.T).trace()
    torch.testing.assert_close(
        table @ table.T, factor * centred @ centred.T, rtol=tolerance(depth="compound"), atol=tolerance()
    )
    assert table[:, -97:].square().mean().sqrt().item() == pytest.approx(0.05, rel=0.02)


def test_token_embeddings_ignore_superfluous_columns_of_the_vectors():
    vectors = vectors_of(128)
    first, second = (structured(vectors=taken).encoder.embeddings.word.weight for taken in (vectors, vectors[:, :97]))
    assert torch.equal(first, second)


def test_token_embeddings_without_a_vector_stay_random():
    vectors = vectors_of(8)
    vectors[:5] = 0
    fresh = ForPretraining(config_of(), seed=0).encoder.embeddings.word.weight
    table = structured(vectors=vectors).encoder.embeddings.word.weight
    assert torch.equal(table[:5, -97:], fresh[:5, -97:])
    assert not torch.equal(table[5:, -97:], fresh[5:, -97:])


def test_token_embeddings_stay_random_without_any_vector():
    fresh = ForPretraining(config_of(), seed=0)
    found = structured(vectors=torch.zeros(VOCAB, 0))
    assert torch.equal(found.encoder.embeddings.word.weight[:, -97:], fresh.encoder.embeddings.word.weight[:, -97:])


def test_mlm_bias_is_the_log_of_the_unigram_distribution():
    bias = structured().mlm.bias.detach()
    torch.testing.assert_close(bias.exp(), (torch.arange(float(VOCAB)) + 1) / 1275)


def test_token_embeddings_are_rotated_by_the_seed():
    tables = [structured(seed=seed).encoder.embeddings.word.weight for seed in (1, 1, 2)]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])


def test_structured_initialization_of_a_pre_norm_gated_block_is_finite():
    model = structured(config_of(norm_first=True, gated_feed_forward=True, use_bias=False))
    ids = torch.arange(20)[None]
    output = model(ids, ids >= 0, ids % 2, torch.arange(5))
    assert output.mlm_logits.isfinite().all()


ROTARY = {"position_embedding": "rotary", "norm_first": True, "gated_feed_forward": True, "use_bias": False}


@torch.no_grad()
def first_layer_probabilities(config: ModelConfig, ids: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
    """Attention probabilities A S S of the first layer for one sequence."""
    encoder, mask = structured(config).encoder, torch.ones_like(ids, dtype=torch.bool)
    output = encoder(ids, mask, segments, output_hidden_states=True)
    return encoder.attention_probabilities(output, mask)[0][0]


@pytest.mark.parametrize(("hidden_size", "heads"), [(128, 4), (256, 4), (256, 8)])
def test_with_rotary_positions_heads_attend_to_their_offset_and_to_equal_tokens(hidden_size, heads):
    """At a distance of up to 100 tokens, because these rows of query and key hardly rotate."""
    config = config_of(hidden_size=hidden_size, num_attention_heads=heads, max_position_embeddings=128, **ROTARY)
    first = torch.randperm(48, generator=torch.Generator().manual_seed(1))
    ids, segments = torch.cat([first, first.flip(0)])[None], torch.tensor([[0] * 48 + [1] * 48])
    found, positions = first_layer_probabilities(config, ids, segments), torch.arange(4, 44)
    offsets = relative_position_heads(heads)
    for head, offset in enumerate(offsets):
        to_offset = [found[head, positions, positions + other].mean() for other in range(-4, 5)]
        assert max(range(9), key=to_offset.__getitem__) - 4 == offset
        assert to_offset[offset + 4] > 0.4
    for head in range(heads - num_duplicate_token_heads(heads), heads):
        assert (found[head, positions].argmax(-1) == 95 - positions).float().mean() > 0.8


def test_with_rotary_positions_one_column_is_constant():
    embeddings = structured(config_of(**ROTARY)).encoder.embeddings
    segments, tokens = embeddings.token_type.weight, embeddings.word.weight
    assert (segments[:, 0] == segments[0, 0]).all()
    assert segments[0, 0] > 0
    assert segments[0, 1] == -segments[1, 1]
    assert (segments[:, 2:] == 0).all()
    assert (tokens[:, :2] == 0).all()
    assert (tokens[:, 2:].norm(dim=1) > 0).all()
