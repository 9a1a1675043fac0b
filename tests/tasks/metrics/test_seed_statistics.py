"""Statistics over seeds."""

from dataclasses import replace
from math import comb, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.seed_statistics import statistics_by_metric, statistics_of

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=9)


@given(SCORES, st.randoms(use_true_random=False))
def test_seed_statistics_do_not_depend_on_the_order(scores, random):
    shuffled = random.sample(scores, len(scores))
    assert statistics_of(shuffled) == replace(statistics_of(scores), scores=tuple(shuffled))


@given(SCORES)
def test_seed_interval_holds_the_median_and_lies_within_the_scores(scores):
    found = statistics_of(scores)
    assert found.best == max(scores)
    if len(scores) == 1:
        assert (found.std, found.median_interval) == (None, None)
        return
    low, high = found.median_interval
    assert min(scores) <= low <= found.median <= high <= max(scores)


def test_figures_known_by_hand():
    found = statistics_of([0.5, 0.9, 0.7])
    assert found.scores == (0.5, 0.9, 0.7)
    assert (found.trials, found.median, found.mean, found.std) == (3, 0.7, pytest.approx(0.7), pytest.approx(0.2))


def test_equal_scores_have_an_interval_of_one_point():
    assert statistics_of([0.25] * 5).median_interval == (0.25, 0.25)


def test_seed_interval_of_the_median_is_the_95_percent_one():
    """The median of a resample is at most score k where most of its draws are: a binomial probability."""
    count = 9

    def probability_up_to(score):
        share = score / count
        most = range(count // 2 + 1, count + 1)
        return sum(comb(count, draws) * share**draws * (1 - share) ** (count - draws) for draws in most)

    scores = range(1, count + 1)
    expected = tuple(next(k for k in scores if probability_up_to(k) > bound) for bound in (0.025, 0.975))
    assert statistics_of([float(score) for score in scores]).median_interval == expected


@pytest.mark.parametrize("missing", [nan, None])
def test_seeds_without_a_score_are_counted_and_the_figures_are_those_of_the_others(missing):
    found = statistics_of([0.9, missing, 0.8])
    assert replace(found, scores=()) == replace(statistics_of([0.9, 0.8]), scores=())
    assert found.scores == (0.9, None, 0.8)
    assert found.to_text().endswith("best 0.9000 of 2 trials (2 of 3 seeds)")
    assert statistics_of([missing, 0.8]).to_text() == "0.8000 (one trial) (1 of 2 seeds)"


def test_interval_of_few_seeds_is_called_a_range():
    """The range of n scores misses the true median where all are on one side of it, in 2 of 2^n cases."""
    scores = [0.1 * seed for seed in range(6)]
    assert 2 / 2**5 > 0.05 > 2 / 2**6
    assert "(range 0.0000 to 0.4000)" in statistics_of(scores[:5]).to_text()
    assert statistics_of(scores[:5]).median_interval == (min(scores), scores[4])
    assert "(95 % interval 0.0500 to " in statistics_of(scores).to_text()


def test_statistics_by_metric_leave_out_what_no_run_has():
    found = statistics_by_metric([None, {"accuracy": 0.5, "f1": nan}, {"accuracy": nan, "f1": nan}])
    assert found == {"accuracy": statistics_of([None, 0.5, nan])}
