"""Losses of questions: the padding of a batch is no matter, splitting a batch is none either."""

import pytest
import torch
from torch import nn

from litebert.model.config import ModelConfig
from litebert.model.models import ForAnswerability, ForQuestionAnswering
from litebert.runs.squad_objectives import IMPOSSIBLE_WEIGHT, AnswerabilityObjective, SpanObjective
from litebert.tasks.squad_outputs import answer_mask
from tasks.squad_builders import QUESTIONS, encoded, question

PAIRS = [(ForQuestionAnswering, SpanObjective), (ForAnswerability, AnswerabilityObjective)]


@pytest.fixture(scope="module")
def config(tiny_tokenizer):
    return ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=96,
        initializer_range=0.3,
    )


@pytest.fixture(scope="module")
def examples(tiny_tokenizer):
    shorter = question("q5", "Who?", "actor", context="The old actor.")
    return encoded(tiny_tokenizer, (*QUESTIONS, shorter), max_length=96)


@pytest.mark.parametrize(("model", "objective"), PAIRS)
def test_a_batch_is_the_sum_of_its_windows_whatever_the_padding(model, objective, config, examples):
    model, objective = model(config).eval(), objective()
    everything = list(range(len(examples)))
    whole = objective(model, examples.batch(everything))
    parts = [objective(model, examples.batch([index])) for index in everything]
    counts = objective.counts(examples.batch(everything))
    for name in whole.losses:
        assert whole.losses[name].item() == pytest.approx(sum(part.losses[name].item() for part in parts), rel=1e-4)
        assert whole.correct[name].item() == sum(part.correct[name].item() for part in parts)
        assert counts[name] == len(examples)


def test_span_loss_is_the_mean_cross_entropy_of_both_ends(config, examples):
    model = ForQuestionAnswering(config).eval()
    batch = examples.batch([0])
    output = model(batch.inputs.input_ids, batch.inputs.attention_mask, batch.inputs.token_type_ids)
    start, end, _ = batch.labels[0].tolist()
    expected = -(output.start_logits[0].log_softmax(-1)[start] + output.end_logits[0].log_softmax(-1)[end]) / 2
    assert SpanObjective()(model, batch).losses["span"].item() == pytest.approx(expected.item(), rel=1e-5)


def test_answerability_is_weighted_by_half(config, examples):
    model = ForAnswerability(config).eval()
    batch = examples.batch([3])
    inputs = batch.inputs
    ids = inputs.input_ids, inputs.attention_mask, inputs.token_type_ids
    output = model(*ids, answer_mask(inputs), batch.labels[:, 0])
    expected = nn.functional.softplus(-output.impossible_logits).sum()
    found = AnswerabilityObjective()(model, batch).losses["impossible"]
    assert found.item() == pytest.approx(IMPOSSIBLE_WEIGHT * expected.item(), rel=1e-5)


@pytest.mark.parametrize(("model", "objective"), PAIRS)
def test_everything_can_be_learnt(model, objective, config, examples):
    model, objective = model(config).train(), objective()
    batch = examples.batch(list(range(len(examples))))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(80):
        optimizer.zero_grad()
        sum(objective(model, batch).losses.values()).backward()
        optimizer.step()
    right = objective(model.eval(), batch).correct
    assert {name: int(count) for name, count in right.items()} == objective.counts(batch)
