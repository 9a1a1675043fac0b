"""Models over windows: what leaves them is the same in any batch, and means what it says."""

import numpy as np
import pytest
import torch

from litebert.model.models import ForQuestionAnswering, ForQuestionAnsweringWithNoAnswer
from litebert.tasks.types.span_outputs import (
    BEAMS,
    answer_mask,
    beam_candidates,
    beam_outputs,
    span_candidates,
    span_outputs,
)


def test_answers_may_begin_in_the_document_or_at_cls(film_windows):
    inputs = film_windows.inputs(range(len(film_windows)))
    mask = answer_mask(inputs)
    for window, row in zip(film_windows.windows, mask, strict=True):
        first, stop = window.plan.pieces
        allowed = [0, *range(window.first + first, window.first + stop)]
        assert row.nonzero()[:, 0].tolist() == allowed


@torch.inference_mode()
def test_scores_of_a_window_do_not_depend_on_its_batch(film_windows, small_config):
    model = ForQuestionAnswering(small_config).eval()
    together = span_outputs(model, film_windows.inputs(range(len(film_windows))))
    for index, given in enumerate(together):
        (alone,) = span_outputs(model, film_windows.inputs([index]))
        assert given.shape == alone.shape == (2, film_windows.lengths[index])
        np.testing.assert_allclose(given, alone, atol=1e-5)


@torch.inference_mode()
def test_beams_of_a_window_do_not_depend_on_its_batch(film_windows, small_config):
    model = ForQuestionAnsweringWithNoAnswer(small_config).eval()
    together = beam_candidates(beam_outputs(model, film_windows.inputs(range(len(film_windows)))))
    for index, given in enumerate(together):
        (alone,) = beam_candidates(beam_outputs(model, film_windows.inputs([index])))
        assert given.null_score == pytest.approx(alone.null_score, abs=1e-5)
        assert list(zip(given.first, given.last, strict=True)) == list(zip(alone.first, alone.last, strict=True))
        np.testing.assert_allclose(given.scores, alone.scores, atol=1e-4)


@torch.inference_mode()
def test_beams_are_the_models_own(film_windows, small_config):
    model = ForQuestionAnsweringWithNoAnswer(small_config).eval()
    inputs = film_windows.inputs([0])
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
