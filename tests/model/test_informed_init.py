"""Weights that begin with neighbours: heads look where they should, words keep what their vectors say of each other."""

import pytest
import torch

from litebert.model.config import ModelConfig
from litebert.model.informed_init import FASTEST, begin_with_neighbours, begin_with_words, offsets, wave_angles
from litebert.model.models import ForPretraining


def config_of(**changed) -> ModelConfig:
    values = {
        "vocab_size": 50,
        "embedding_size": 64,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
        "initializer_range": 0.05,
    }
    return ModelConfig.parse({**values, **changed}, where="test")


def begun(config: ModelConfig, *, seed: int = 0) -> ForPretraining:
    model = ForPretraining(config, seed=seed)
    begin_with_neighbours(model.encoder, config)
    return model.eval()


def test_heads_look_one_back_one_on_two_back_and_so_forth():
    assert offsets(5) == [-1, 1, -2, 2, -3]


@pytest.mark.parametrize("hidden_size", [64, 128], ids=["as wide as the embeddings", "wider"])
@pytest.mark.parametrize("sharing", ["all", "none"])
def test_each_head_of_each_block_looks_most_at_the_place_of_its_offset(hidden_size, sharing):
    """Of places alone: every token is the same one."""
    config = config_of(hidden_size=hidden_size, sharing=sharing)
    encoder = begun(config).encoder
    ids, mask = torch.full((1, 40), 7), torch.ones(1, 40, dtype=torch.bool)
    with torch.no_grad():
        x = encoder.projection(encoder.embeddings(ids, torch.zeros_like(ids), torch.arange(40)[None]))
        for block in encoder.attentions:
            looked = block.probabilities(x, mask)[0].argmax(-1)
            for head, offset in enumerate(offsets(2)):
                places = torch.arange(2, 38)
                assert (looked[head, places] == places + offset).float().mean() > 0.7


def test_fresh_weights_stay_below_what_is_added():
    """Two seeds differ, so heads are no copies of each other where they need not be."""
    first, second = (begun(config_of(), seed=seed).encoder.attentions[0] for seed in (0, 1))
    assert not torch.equal(first.query.weight, second.query.weight)
    assert torch.equal(first.value.weight, ForPretraining(config_of(), seed=0).encoder.attentions[0].value.weight)


@pytest.mark.parametrize("embedding_size", [6, 7])
def test_waves_need_no_even_width_nor_as_many_of_them_as_a_head_has_rows(embedding_size):
    model = begun(config_of(embedding_size=embedding_size))
    assert torch.isfinite(model.encoder.attentions[0].query.weight).all()
    assert torch.isfinite(model.encoder.embeddings.position.weight).all()


def test_a_hidden_size_below_the_embeddings_is_allowed():
    assert torch.isfinite(begun(config_of(hidden_size=32)).encoder.projection.weight).all()


def test_waves_are_as_large_as_words_and_span_all_lengths():
    config = config_of()
    angles = wave_angles(config)
    assert angles[0] == pytest.approx(FASTEST)
    assert angles[-1] == pytest.approx(FASTEST / 64)
    positions = begun(config).encoder.embeddings.position.weight
    assert positions.square().mean().sqrt().item() == pytest.approx(config.initializer_range, rel=1e-5)


def with_words(vectors: torch.Tensor, *, seed: int = 0) -> ForPretraining:
    model = ForPretraining(config_of(), seed=0)
    begin_with_words(model, vectors, torch.arange(50.0), scale=0.05, seed=seed)
    return model


@pytest.mark.parametrize("width", [8, 64])
def test_words_keep_their_angles_their_common_part_taken_out(width):
    vectors = torch.randn(50, width, generator=torch.Generator().manual_seed(0)) + 3
    table = with_words(vectors).encoder.embeddings.word.weight.detach()
    centred = vectors - vectors.mean(0)
    factor = (table @ table.T).trace() / (centred @ centred.T).trace()
    torch.testing.assert_close(table @ table.T, factor * centred @ centred.T, rtol=1e-4, atol=1e-5)
    assert table.square().mean().sqrt().item() == pytest.approx(0.05, rel=0.02)


def test_tokens_without_a_vector_keep_their_fresh_weights():
    vectors = torch.randn(50, 8)
    vectors[:5] = 0
    fresh = ForPretraining(config_of(), seed=0).encoder.embeddings.word.weight
    table = with_words(vectors).encoder.embeddings.word.weight
    assert torch.equal(table[:5], fresh[:5])
    assert not torch.equal(table[5:], fresh[5:])


def test_without_any_vector_only_the_output_changes():
    fresh = ForPretraining(config_of(), seed=0)
    found = with_words(torch.zeros(50, 0))
    assert torch.equal(found.encoder.embeddings.word.weight, fresh.encoder.embeddings.word.weight)
    assert not torch.equal(found.mlm.bias, fresh.mlm.bias)


def test_the_output_begins_with_how_often_tokens_occur():
    bias = with_words(torch.randn(50, 8)).mlm.bias.detach()
    torch.testing.assert_close(bias.exp(), (torch.arange(50.0) + 1) / 1275)


def test_the_turn_is_the_seeds():
    vectors = torch.randn(50, 8)
    tables = [with_words(vectors, seed=seed).encoder.embeddings.word.weight for seed in (1, 1, 2)]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])
