"""Statistics over seeds."""

from dataclasses import replace
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.seed_statistics import statistics_of

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
