"""Outputs of the question answering models for windows."""

import numpy as np
import pytest
import torch

from litebert.model.models import ForQuestionAnswering, ForQuestionAnsweringWithNoAnswer
from litebert.tasks.types.extractive_qa.span_outputs import answer_mask, span_beams, span_logits
from litebert.tasks.types.extractive_qa.span_scores import BEAM_SIZE
from support.models.tolerances import tolerance


def test_answer_mask_is_the_context_and_cls(film_windows):
    inputs = film_windows.inputs(range(len(film_windows)))
    mask = answer_mask(inputs)
    for window, row in zip(film_windows.windows, mask, strict=True):
        first, stop = window.plan.tokens
        assert row.nonzero()[:, 0].tolist() == [0, *range(window.offset + first, window.offset + stop)]


@torch.inference_mode()
def test_span_logits_do_not_depend_on_the_batch(film_windows, small_config):
    model = ForQuestionAnswering(small_config).eval()
    together = span_logits(model, film_windows.inputs(range(len(film_windows))))
    for index, given in enumerate(together):
        (alone,) = span_logits(model, film_windows.inputs([index]))
        assert given.starts.shape == alone.ends.shape == (film_windows.lengths[index],)
        np.testing.assert_allclose(given, alone, atol=tolerance())


@torch.inference_mode()
def test_span_beams_do_not_depend_on_the_batch(film_windows, small_config):
    model = ForQuestionAnsweringWithNoAnswer(small_config).eval()
    together = span_beams(model, film_windows.inputs(range(len(film_windows))))
    for index, given in enumerate(together):
        (alone,) = span_beams(model, film_windows.inputs([index]))
        assert given.null_score == pytest.approx(alone.null_score, abs=tolerance())
        assert list(zip(given.first, given.last, strict=True)) == list(zip(alone.first, alone.last, strict=True))
        np.testing.assert_allclose(given.scores, alone.scores, atol=tolerance(depth="compound"))


@torch.inference_mode()
def test_span_beams_are_those_of_the_model(film_windows, small_config):
    model = ForQuestionAnsweringWithNoAnswer(small_config).eval()
    inputs = film_windows.inputs([0])
    beams = model.beams(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, answer_mask(inputs))
    (found,) = span_beams(model, inputs)
    assert len(found.first) == BEAM_SIZE * BEAM_SIZE
    assert found.first.reshape(BEAM_SIZE, BEAM_SIZE)[:, 0].tolist() == beams.start_positions[0].tolist()
    assert found.last.reshape(BEAM_SIZE, BEAM_SIZE).tolist() == beams.end_positions[0].tolist()
    assert found.null_score == beams.impossible_logits.item()
