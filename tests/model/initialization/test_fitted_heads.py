"""Duplicate-token heads that are fitted to a trained encoder."""

import math

import pytest
import torch

from litebert.errors import ConfigError, DataError
from litebert.model.initialization.fitted_heads import attention_to_equal_tokens as measured_attention
from litebert.model.initialization.fitted_heads import fit_duplicate_token_heads_
from litebert.model.initialization.head_patterns import num_duplicate_token_heads
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.model_inputs import ModelInputs
from litebert.model.models import ForPretraining
from support.models.model_builders import MODERN

VOCAB, LENGTH = 200, 48


def config_of(tiny_config, **changed):
    sizes = {"vocab_size": VOCAB, "embedding_size": 64, "hidden_size": 128, "num_attention_heads": 4}
    return tiny_config.replace(**{**sizes, "max_position_embeddings": 64, **changed})


def trained(config):
    """A model with embeddings as large as those of a trained one, and layers that change the states as little."""
    model = ForPretraining(config, seed=0)
    with torch.no_grad():
        for layer in (
            *(block.output for block in model.encoder.attentions),
            *(f.down for f in model.encoder.feed_forwards),
        ):
            layer.weight.mul_(0.1)
        for table in (model.encoder.embeddings.word, model.encoder.embeddings.token_type):
            table.weight.mul_(5)
    return model.eval()


def batches(seed=0):
    """Random tokens in two segments of equal length."""
    ids = torch.randint(5, VOCAB, (160, LENGTH), generator=torch.Generator().manual_seed(seed))
    segments = (torch.arange(LENGTH) >= LENGTH // 2).long().expand_as(ids)
    return [ModelInputs(*part) for part in zip(ids.split(8), torch.ones_like(ids).bool().split(8), segments.split(8))]


@torch.no_grad()
def attention(model, layer=0):
    """Attention probabilities [A, 40, 40] of a layer, for 20 tokens and the same again as the other segment."""
    first = 5 + torch.randperm(VOCAB - 5, generator=torch.Generator().manual_seed(1))[:20]
    ids = torch.cat([first, first.flip(0)])[None]
    segments, mask = (torch.arange(40) >= 20).long()[None], torch.ones_like(ids).bool()
    output = model.encoder(ids, mask, segments, output_hidden_states=True)
    return model.encoder.attention_probabilities(output, mask)[layer][0]


def attention_to_equal_tokens(model, layer=0):
    """Of each head, from a token to the same one in the other segment."""
    return attention(model, layer)[:, torch.arange(40), 39 - torch.arange(40)].mean(-1)


def attention_to_other_text(model):
    """Of each head, from a token to all of the other segment."""
    probabilities = attention(model)
    return (probabilities[:, :20, 20:].sum(-1) + probabilities[:, 20:, :20].sum(-1)).mean(-1) / 2


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"sharing": "none"},
        {"embedding_size": 128},
        {**MODERN, "recursion_lora_rank": 0},
        {"num_attention_heads": 8},
    ],
    ids=["ALBERT", "unshared", "no projection", "modern", "8 heads"],
)
def test_the_last_heads_attend_to_the_equal_token_of_the_other_segment(tiny_config, changed):
    model = trained(config_of(tiny_config, **changed))
    fitted = num_duplicate_token_heads(model.encoder.config.num_attention_heads)
    assert attention_to_equal_tokens(model).max() < 0.2
    fit_duplicate_token_heads_(model.encoder, batches(), seed=0)
    assert attention_to_equal_tokens(model)[-fitted:].min() > 0.3


def test_a_larger_logit_makes_the_attention_to_equal_tokens_sharper(tiny_config):
    """Up to a point: each token is still more similar to itself than to its equal in the other segment."""
    found = []
    for logit in (0.5, 1.0, 2.0):
        model = trained(config_of(tiny_config))
        fit_duplicate_token_heads_(model.encoder, batches(), seed=0, logit=logit)
        found.append(attention_to_equal_tokens(model)[-2:].min())
    assert found[0] < found[1] < found[2]


def test_wide_heads_do_not_read_the_directions_of_positions(tiny_config):
    """Two heads of 64 have rows for 126 of 128 directions; positions differ in 32 of these, as sinusoids do."""
    model = trained(config_of(tiny_config, embedding_size=128, hidden_size=256))
    with torch.no_grad():
        model.encoder.embeddings.position.weight[:, :32] *= 10
    fit_duplicate_token_heads_(model.encoder, batches(), seed=0)
    assert attention_to_equal_tokens(model)[-2:].min() > 0.3


@pytest.mark.parametrize(
    ("changed", "fitted_layers"),
    [({}, [0]), ({"num_hidden_groups": 2}, [0, 2]), ({"sharing": "none"}, [0, 1, 2, 3])],
    ids=["one group", "two groups", "unshared"],
)
def test_every_stored_attention_is_fitted_to_the_first_layer_that_runs_it(tiny_config, changed, fitted_layers):
    rotary = {**MODERN, "recursion_lora_rank": 0, "num_hidden_layers": 4}
    model = trained(config_of(tiny_config, **{**rotary, **changed}))
    fit_duplicate_token_heads_(model.encoder, batches(), seed=0)
    for layer in fitted_layers:
        assert attention_to_equal_tokens(model, layer)[-2:].min() > 0.3


@pytest.mark.parametrize(
    ("changed", "first_layers"),
    [
        ({}, [0]),
        ({"num_hidden_groups": 2}, [0, 2]),
        ({"inner_group_num": 2}, [0, 1]),
        ({"sharing": "attention"}, [0]),
        ({"sharing": "feed_forward"}, [0, 1, 2, 3]),
    ],
    ids=["one group", "two groups", "two blocks a layer", "attention", "feed-forward"],
)
def test_first_input_is_what_the_first_layer_of_an_attention_reads(tiny_config, changed, first_layers):
    encoder = trained(config_of(tiny_config, num_hidden_layers=4, **changed)).encoder
    batch = batches()[0]
    with torch.no_grad():
        states = encoder(*batch, output_hidden_states=True).hidden_states
        assert len(encoder.attentions) == len(first_layers)
        for index, layer in enumerate(first_layers):
            torch.testing.assert_close(encoder.first_input(index, *batch), states[layer])
    assert fit_duplicate_token_heads_(encoder, batches(), seed=0) == len(first_layers)


def test_a_later_attention_that_reads_few_directions_keeps_its_heads(tiny_config, monkeypatch):
    monkeypatch.setattr("litebert.model.initialization.fitted_heads.MIN_DIRECTIONS", 1.1)
    model, before = (trained(config_of(tiny_config, num_hidden_groups=2)) for _ in range(2))
    assert fit_duplicate_token_heads_(model.encoder, batches(), seed=0) == 1
    first, second = model.encoder.attentions
    assert not torch.equal(first.query.weight, before.encoder.attentions[0].query.weight)
    assert torch.equal(second.query.weight, before.encoder.attentions[1].query.weight)


@pytest.mark.parametrize("sharing", ["all", "none"])
def test_nothing_but_query_and_key_of_these_heads_changes(tiny_config, sharing):
    config = config_of(tiny_config, sharing=sharing)
    model, fresh = trained(config), trained(config)
    model.train()
    fit_duplicate_token_heads_(model.encoder, batches(), seed=0)
    assert model.encoder.training
    for (name, found), before in zip(model.named_parameters(), fresh.parameters(), strict=True):
        if "attentions" in name and (".query." in name or ".key." in name):
            assert torch.equal(found[:64], before[:64])
            assert not torch.equal(found[64:], before[64:])
        else:
            assert torch.equal(found, before)


def test_heads_depend_on_the_seed_only(tiny_config):
    models = [trained(config_of(tiny_config)) for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        fit_duplicate_token_heads_(model.encoder, batches(), seed=seed)
    same, again, other = (model.encoder.attentions[0].query.weight for model in models)
    assert torch.equal(same, again)
    assert not torch.equal(same, other)


@pytest.mark.parametrize(("heads", "hidden_size"), [(2, 128), (64, 64)], ids=["two heads", "heads of width 1"])
def test_models_without_room_for_such_heads_are_refused(tiny_config, heads, hidden_size):
    model = trained(config_of(tiny_config, num_attention_heads=heads, hidden_size=hidden_size))
    with pytest.raises(ConfigError, match="no room for duplicate-token heads"):
        fit_duplicate_token_heads_(model.encoder, batches(), seed=0)


def test_models_with_low_rank_updates_are_refused(tiny_config):
    with pytest.raises(ConfigError, match="the model has recursion_lora_rank=2, which would add to the fitted"):
        fit_duplicate_token_heads_(trained(config_of(tiny_config, **MODERN)).encoder, batches(), seed=0)
    model = trained(config_of(tiny_config))
    model.encoder.adapters = LoRASettings(rank=2)
    with pytest.raises(ConfigError, match="the model has adapters, which would add to the fitted"):
        fit_duplicate_token_heads_(model.encoder, batches(), seed=0)


def test_attention_to_equal_tokens_is_measured_over_the_last_heads(tiny_config):
    model = trained(config_of(tiny_config)).train()
    before = measured_attention(model.encoder, batches(1)[0])
    fit_duplicate_token_heads_(model.encoder, batches(), seed=0)
    assert before < 0.1 < 0.3 < measured_attention(model.encoder, batches(1)[0])
    assert model.encoder.training
    batch = batches()[0]
    alone = batch._replace(token_type_ids=torch.zeros_like(batch.token_type_ids))
    assert math.isnan(measured_attention(model.encoder, alone))


def test_fitted_heads_without_biases_prefer_the_other_text(tiny_config):
    """Also where the segments differ in the direction of their mean, which no bias can subtract."""
    model = trained(config_of(tiny_config, **{**MODERN, "recursion_lora_rank": 0}))
    with torch.no_grad():
        model.encoder.embeddings.token_type.weight[0] *= 0.5
    fit_duplicate_token_heads_(model.encoder, batches(), seed=0)
    assert attention_to_other_text(model)[-2:].min() > 0.9


def test_ignored_tokens_are_not_measured(tiny_config):
    model, batch = trained(config_of(tiny_config)), batches(1)[0]
    assert math.isnan(measured_attention(model.encoder, batch, ignored=range(VOCAB)))


def test_examples_without_a_second_segment_are_refused(tiny_config):
    one = [batch._replace(token_type_ids=torch.zeros_like(batch.token_type_ids)) for batch in batches()]
    with pytest.raises(DataError, match="no example has two texts"):
        fit_duplicate_token_heads_(trained(config_of(tiny_config)).encoder, one, seed=0)


def test_models_with_damaged_weights_are_refused(tiny_config):
    model = trained(config_of(tiny_config))
    with torch.no_grad():
        model.encoder.embeddings.word.weight.fill_(math.nan)
    with pytest.raises(DataError, match="the hidden states of the model are not finite"):
        fit_duplicate_token_heads_(model.encoder, batches(), seed=0)
