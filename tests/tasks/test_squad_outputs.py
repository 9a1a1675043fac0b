"""Models over windows: what leaves them is the same in any batch, and means what it says."""

import numpy as np
import pytest
import torch

from litebert.model.config import ModelConfig
from litebert.model.models import ForAnswerability, ForQuestionAnswering
from litebert.tasks.squad_outputs import (
    BEAMS,
    answer_mask,
    beam_candidates,
    beam_outputs,
    span_candidates,
    span_outputs,
)

from .squad_builders import QUESTIONS, encoded, question


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
        initializer_range=0.5,
    )


@pytest.fixture(scope="module")
def examples(tiny_tokenizer):
    shorter = question("q5", "Who?", "actor", context="The old actor.")
    return encoded(tiny_tokenizer, (*QUESTIONS, shorter), max_length=96)


def test_answers_may_begin_in_the_document_or_at_cls(examples):
    inputs = examples.inputs(range(len(examples)))
    mask = answer_mask(inputs)
    for window, row in zip(examples.windows, mask, strict=True):
        first, stop = window.plan.pieces
        allowed = [0, *range(window.first + first, window.first + stop)]
        assert row.nonzero()[:, 0].tolist() == allowed


@torch.inference_mode()
def test_scores_of_a_window_do_not_depend_on_its_batch(examples, config):
    model = ForQuestionAnswering(config).eval()
    together = span_outputs(model, examples.inputs(range(len(examples))))
    for index, given in enumerate(together):
        (alone,) = span_outputs(model, examples.inputs([index]))
        assert given.shape == alone.shape == (2, examples.lengths[index])
        np.testing.assert_allclose(given, alone, atol=1e-5)


@torch.inference_mode()
def test_beams_of_a_window_do_not_depend_on_its_batch(examples, config):
    model = ForAnswerability(config).eval()
    together = beam_candidates(beam_outputs(model, examples.inputs(range(len(examples)))))
    for index, given in enumerate(together):
        (alone,) = beam_candidates(beam_outputs(model, examples.inputs([index])))
        assert given.null_score == pytest.approx(alone.null_score, abs=1e-5)
        assert list(zip(given.first, given.last, strict=True)) == list(zip(alone.first, alone.last, strict=True))
        np.testing.assert_allclose(given.scores, alone.scores, atol=1e-4)


@torch.inference_mode()
def test_beams_are_the_models_own(examples, config):
    model = ForAnswerability(config).eval()
    inputs = examples.inputs([0])
    beams = model.beams(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, answer_mask(inputs))
    (found,) = beam_candidates(beam_outputs(model, inputs))
    assert len(found.first) == BEAMS * BEAMS
    assert found.first.reshape(BEAMS, BEAMS)[:, 0].tolist() == beams.start_positions[0].tolist()
    assert found.last.reshape(BEAMS, BEAMS).tolist() == beams.end_positions[0].tolist()
    assert found.null_score == beams.impossible_logits.item()


def test_spans_pair_the_best_starts_and_ends():
    (found,) = span_candidates([np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 4.0]], np.float32)], best=2)
    assert list(zip(found.first.tolist(), found.last.tolist(), strict=True)) == [(1, 2), (1, 0), (2, 2), (2, 0)]
    assert found.null_score is None
