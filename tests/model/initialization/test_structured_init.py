"""Weights that begin with neighbours: heads look where they should, words keep what their vectors say of each other."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.initialization.structured_init import (
    FASTEST,
    POSITION_NORM_RATIO,
    SEGMENT_SHARE,
    SLOWEST,
    Columns,
    relative_position_heads,
    sinusoid_frequencies,
    structured_init_,
)
from litebert.model.models import ForPretraining

WORDS = 50


def config_of(**changed) -> ModelConfig:
    values = {
        "vocab_size": WORDS,
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
    return torch.randn(WORDS, width, generator=torch.Generator().manual_seed(0)) + 3


def begun(config: ModelConfig | None = None, vectors: torch.Tensor | None = None, *, seed: int = 0) -> ForPretraining:
    model = ForPretraining(config or config_of(), seed=0)
    structured_init_(model, vectors_of() if vectors is None else vectors, torch.arange(float(WORDS)), seed=seed)
    return model.eval()


@torch.no_grad()
def looks(model: ForPretraining, ids: torch.Tensor, segments: torch.Tensor, block: int = 0) -> torch.Tensor:
    """How much of its attention each head of a block of the first layer gives each place."""
    encoder, mask = model.encoder, torch.ones_like(ids, dtype=torch.bool)
    x = encoder.projection(encoder.embeddings(ids, segments, torch.arange(ids.shape[1])[None]))
    return encoder.attentions[block].probabilities(x, mask)[0]


@pytest.mark.parametrize(
    ("heads", "beside"),
    [(1, [-1]), (2, [-1, 1]), (3, [-1, 1, -2]), (4, [-1, 1]), (5, [-1, 1, -2]), (12, [-1, 1, -2, 2, -3, 3])],
)
def test_heads_look_one_back_one_on_two_back_and_from_four_on_half_at_words(heads, beside):
    assert relative_position_heads(heads) == beside


@pytest.mark.parametrize("hidden_size", [128, 256], ids=["as wide as the embeddings", "wider"])
@pytest.mark.parametrize("sharing", ["all", "none"])
def test_each_head_of_each_block_looks_mostly_at_the_place_of_its_offset(hidden_size, sharing):
    """Among words that all differ, where one that looks at words would look elsewhere."""
    config = config_of(hidden_size=hidden_size, sharing=sharing)
    model, ids, places = begun(config), torch.arange(40)[None], torch.arange(2, 38)
    for block in range(len(model.encoder.attentions)):
        looked = looks(model, ids, torch.zeros_like(ids), block)
        for head, offset in enumerate(relative_position_heads(4)):
            assert looked[head, places, places + offset].median() > 0.8


@pytest.mark.parametrize("hidden_size", [128, 256], ids=["as wide as the embeddings", "wider"])
def test_other_heads_look_at_the_equal_word_of_the_other_segment(hidden_size):
    """Not at themselves, nor at the equal word of their own segment."""
    first = torch.randperm(40, generator=torch.Generator().manual_seed(1))[:12]
    ids = torch.cat([first, first[:3], first.flip(0)])[None]
    segments = torch.tensor([[0] * 15 + [1] * 12])
    looked = looks(begun(config_of(hidden_size=hidden_size)), ids, segments)
    for head in (2, 3):
        found = ids[0, 15 + looked[head, :15, 15:].argmax(-1)]
        assert (found == ids[0, :15]).float().mean() > 0.8
        assert (looked[head, :15, 15:].sum(-1) > 0.8).float().mean() > 0.8


def test_fresh_weights_stay_below_what_is_added():
    """Two blocks of their own differ, and what is not told anything is as it was."""
    config = config_of(sharing="none")
    found, fresh = begun(config).encoder, ForPretraining(config, seed=0).encoder
    first, second = found.attentions
    assert not torch.equal(first.query.weight, second.query.weight)
    assert torch.equal(first.value.weight, fresh.attentions[0].value.weight)


@given(width=st.integers(8, 200))
def test_places_segment_and_words_share_the_columns(width):
    columns = Columns.of(config_of(embedding_size=width))
    assert columns.waves > 0
    assert columns.words > width / 2
    assert columns.segment + 1 + columns.words == width


@pytest.mark.parametrize(("embedding_size", "heads"), [(8, 2), (9, 4), (16, 32)], ids=str)
@pytest.mark.parametrize("hidden_size", [32, 128], ids=["32 wide", "128 wide"])
def test_odd_and_small_sizes_give_finite_weights(embedding_size, heads, hidden_size):
    """A head of one row has room for a segment or for nothing."""
    config = config_of(embedding_size=embedding_size, num_attention_heads=heads, hidden_size=hidden_size)
    for tensor in begun(config, vectors_of(5)).state_dict().values():
        assert torch.isfinite(tensor).all()


def test_a_hidden_size_below_the_embeddings_is_allowed():
    assert torch.isfinite(begun(config_of(hidden_size=32)).encoder.projection.weight).all()


def test_embeddings_too_narrow_to_divide_are_refused():
    with pytest.raises(ConfigError, match=r"model\.embedding_size: 7 columns .* at least 8, or init=random"):
        Columns.of(config_of(embedding_size=7))


def test_waves_go_from_fast_to_slow_by_equal_factors():
    angles = sinusoid_frequencies(15)
    assert angles[0] == pytest.approx(FASTEST)
    assert angles[-1] == pytest.approx(SLOWEST)
    torch.testing.assert_close(angles[1:] / angles[:-1], (angles[1] / angles[0]).expand(14))
    assert sinusoid_frequencies(1).tolist() == pytest.approx([FASTEST])


def test_places_and_segments_have_their_share_of_a_words_length_and_no_column_in_common():
    embeddings = begun().encoder.embeddings
    columns = Columns.of(config_of())
    word = embeddings.word.weight.square().sum(1).mean()
    assert (embeddings.position.weight.square().sum(1).mean() / word).item() == pytest.approx(
        POSITION_NORM_RATIO, rel=0.02
    )
    assert (embeddings.token_type.weight.square().sum(1).mean() / word).item() == pytest.approx(SEGMENT_SHARE, rel=0.02)
    used = [table.weight.abs().sum(0) > 0 for table in (embeddings.position, embeddings.token_type, embeddings.word)]
    assert torch.stack(used).sum(0).tolist() == [1] * 128
    assert used[1].nonzero().tolist() == [[columns.segment]]


@pytest.mark.parametrize("width", [8, 97])
def test_words_keep_their_angles_their_common_part_taken_out(width):
    vectors = vectors_of(width)
    table = begun(vectors=vectors).encoder.embeddings.word.weight.detach()
    centred = vectors - vectors.mean(0)
    factor = (table @ table.T).trace() / (centred @ centred.T).trace()
    torch.testing.assert_close(table @ table.T, factor * centred @ centred.T, rtol=1e-4, atol=1e-5)
    assert table[:, -97:].square().mean().sqrt().item() == pytest.approx(0.05, rel=0.02)


def test_vectors_of_more_columns_than_there_is_room_for_lose_the_last():
    vectors = vectors_of(128)
    first, second = (begun(vectors=taken).encoder.embeddings.word.weight for taken in (vectors, vectors[:, :97]))
    assert torch.equal(first, second)


def test_tokens_without_a_vector_keep_their_fresh_weights():
    vectors = vectors_of(8)
    vectors[:5] = 0
    fresh = ForPretraining(config_of(), seed=0).encoder.embeddings.word.weight
    table = begun(vectors=vectors).encoder.embeddings.word.weight
    assert torch.equal(table[:5, -97:], fresh[:5, -97:])
    assert not torch.equal(table[5:, -97:], fresh[5:, -97:])


def test_without_any_vector_words_stay_fresh():
    fresh = ForPretraining(config_of(), seed=0)
    found = begun(vectors=torch.zeros(WORDS, 0))
    assert torch.equal(found.encoder.embeddings.word.weight[:, -97:], fresh.encoder.embeddings.word.weight[:, -97:])


def test_the_output_begins_with_how_often_tokens_occur():
    bias = begun().mlm.bias.detach()
    torch.testing.assert_close(bias.exp(), (torch.arange(float(WORDS)) + 1) / 1275)


def test_the_turn_is_the_seeds():
    tables = [begun(seed=seed).encoder.embeddings.word.weight for seed in (1, 1, 2)]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])
