import pytest
import torch
from torch import nn

from litebert.model.initialization.random_init import fill_truncated_normal
from litebert.model.models import ForMaskedLM, ForPretraining, ForQuestionAnsweringWithNoAnswer


def test_weights_are_normal_and_cut_at_two_deviations():
    tensor = torch.empty(400, 500)
    fill_truncated_normal(tensor, scale=0.02, seed=0)
    assert tensor.abs().max() <= 0.04
    assert tensor.mean().item() == pytest.approx(0, abs=2e-4)
    # the deviation of a normal cut at two of its deviations is 0.8796 of the uncut one
    assert tensor.std().item() == pytest.approx(0.02 * 0.8796, rel=0.01)


@pytest.mark.parametrize("build", [ForPretraining, ForQuestionAnsweringWithNoAnswer])
def test_biases_are_zero_and_norms_do_nothing(tiny_config, build):
    for module in build(tiny_config).modules():
        if isinstance(module, nn.LayerNorm):
            assert module.weight.eq(1).all()
            assert module.bias.eq(0).all()
        elif isinstance(module, nn.Linear) and module.bias is not None:
            assert module.bias.eq(0).all()
            assert module.weight.std() > 0.1


def test_random_init_sets_the_vocabulary_bias_to_zero(tiny_config):
    assert not ForMaskedLM(tiny_config).mlm.bias.any()


def test_random_init_depends_on_the_seed_only(tiny_config):
    first = ForPretraining(tiny_config, seed=3).state_dict()
    torch.manual_seed(1)
    second, other = ForPretraining(tiny_config, seed=3).state_dict(), ForPretraining(tiny_config, seed=4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["encoder.embeddings.word.weight"], other["encoder.embeddings.word.weight"])


def test_random_init_of_the_encoder_is_the_same_under_any_head(tiny_config):
    pretraining, masked = ForPretraining(tiny_config).state_dict(), ForMaskedLM(tiny_config).state_dict()
    assert all(torch.equal(masked[name], pretraining[name]) for name in masked)


def test_random_init_gives_no_two_parameters_equal_values(tiny_config):
    block = ForPretraining(tiny_config).encoder.attentions[0]
    assert not torch.equal(block.query.weight, block.key.weight)


def test_random_init_skips_parameters_on_the_meta_device(tiny_config):
    with torch.device("meta"):
        model = ForPretraining(tiny_config)
    assert all(parameter.is_meta for parameter in model.parameters())
