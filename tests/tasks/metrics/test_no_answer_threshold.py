"""The no-answer threshold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.squad_metrics import best_thresholds, percent, score_with_unanswerable
from support.data.question_builders import QUESTIONS

NAMES = [question.id for question in QUESTIONS]
TEXTS = st.lists(st.sampled_from(["", "old actor", "2024", "Her first play", "good"]), min_size=4, max_size=4)
DIFFERENT = st.lists(st.floats(-50, 50), min_size=4, max_size=4, unique=True)


def scores_at(predictions, null_scores, threshold):
    """Exact match and F1 where "" is predicted above the threshold."""
    applied = {name: "" if null_scores[name] > threshold else text for name, text in predictions.items()}
    scores = score_with_unanswerable(QUESTIONS, applied)
    return {"exact": percent(scores.exact.values()), "f1": percent(scores.f1.values())}


@given(TEXTS, DIFFERENT)
def test_best_threshold_has_the_highest_score(texts, values):
    predictions, null_scores = dict(zip(NAMES, texts)), dict(zip(NAMES, values))
    best = best_thresholds(QUESTIONS, predictions, null_scores)
    tried = [min(values) - 1, *sorted(values)]

    def figures(threshold):
        return scores_at(predictions, null_scores, threshold)

    for name, chosen in (("exact", best.exact), ("f1", best.f1)):
        scored = [figures(threshold)[name] for threshold in tried]
        assert chosen.score == pytest.approx(max(scored))
        assert figures(chosen.threshold)[name] == pytest.approx(chosen.score)
        assert figures(chosen.midpoint)[name] == pytest.approx(chosen.score)


@given(TEXTS, st.lists(st.integers(1, 50), min_size=4, max_size=4, unique=True))
def test_best_threshold_is_the_smallest_of_equally_good_ones(texts, values):
    """As the official script, which moves on for a better score only; it begins at 0, where nothing is answered."""
    predictions, null_scores = dict(zip(NAMES, texts)), dict(zip(NAMES, values))
    best = best_thresholds(QUESTIONS, predictions, null_scores)
    tried = [0.0, *sorted(null_scores.values())]
    scored = [scores_at(predictions, null_scores, each)["f1"] for each in tried]
    # up to the rounding of sums in another order
    first = next(each for each, score in zip(tried, scored) if score > max(scored) - 1e-9)
    assert best.f1.threshold == first


@given(TEXTS, st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_threshold_midpoint_has_the_highest_score_that_a_threshold_reaches(texts, values):
    predictions, null_scores = dict(zip(NAMES, texts)), dict(zip(NAMES, map(float, values)))
    best = best_thresholds(QUESTIONS, predictions, null_scores)
    for name, chosen in (("exact", best.exact), ("f1", best.f1)):
        scored = [scores_at(predictions, null_scores, each)[name] for each in (0.0, 1.0, 2.0, 3.0)]
        assert scores_at(predictions, null_scores, chosen.midpoint)[name] == pytest.approx(max(scored))
        assert chosen.score >= max(scored) - 1e-9


def test_threshold_midpoint_is_between_two_null_scores():
    predictions = {"q1": "old actor", "q2": "2024", "q3": "", "q4": "good"}
    null_scores = {"q1": -3.0, "q2": 1.0, "q3": 4.0, "q4": 5.0}
    assert best_thresholds(QUESTIONS, predictions, null_scores).f1.midpoint == 2.5
    everything = best_thresholds(QUESTIONS[:2], predictions, null_scores).f1
    assert (everything.threshold, everything.midpoint) == (1.0, 2.0)


def test_best_threshold_may_leave_all_negative_null_scores_unanswered():
    best = best_thresholds(QUESTIONS[3:], {"q4": "good"}, {"q4": -3.0})
    assert best.f1.threshold < -3.0
    assert best.f1.score == 100


@pytest.mark.parametrize("null_score", [0.0, 0.5, 3.0])
def test_best_threshold_that_answers_nothing_is_0_unless_null_scores_are_negative(null_score):
    """As in the official script, whose null scores are probabilities."""
    best = best_thresholds(QUESTIONS[3:], {"q4": "good"}, {"q4": null_score})
    assert best.f1.threshold == 0.0


def test_best_thresholds_have_the_official_names():
    best = best_thresholds(QUESTIONS, dict.fromkeys(NAMES, "2024"), dict.fromkeys(NAMES, 0.5))
    assert list(best.to_dict()) == ["best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh"]
