"""benchmarks/arms/transplant.py: which weights of the result are those of the other model, and which are scaled."""

from pathlib import Path

import pytest
import torch

from litebert.model.models import ForPretraining

BLOCKS = ("encoder.attentions.", "encoder.feed_forwards.")


@pytest.fixture
def transplant(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks" / "arms")
    import transplant

    return transplant


def test_each_parameter_belongs_to_one_part_or_stays(transplant, tiny_config):
    model, other = ForPretraining(tiny_config, seed=1), ForPretraining(tiny_config, seed=2)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    others = dict(other.named_parameters())
    transplant.transplant(model, other, parts=["embeddings", "attentions"], scale=1.0)
    taken = ("encoder.embeddings.", "encoder.projection.", "encoder.attentions.")
    for name, weight in model.named_parameters():
        assert torch.equal(weight, others[name] if name.startswith(taken) else before[name]), name


def test_scale_multiplies_the_matrices_of_the_blocks_alone(transplant, tiny_config):
    model = ForPretraining(tiny_config, seed=1)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    transplant.transplant(model, ForPretraining(tiny_config, seed=2), parts=[], scale=0.25)
    scaled = [name for name, weight in before.items() if name.startswith(BLOCKS) and weight.dim() == 2]
    assert len(scaled) >= 6
    for name, weight in model.named_parameters():
        assert torch.equal(weight, before[name] * 0.25 if name in scaled else before[name]), name
