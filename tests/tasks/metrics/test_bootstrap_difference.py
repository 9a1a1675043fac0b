"""Gains with their intervals."""

import numpy as np
import pytest

from litebert.tasks.metrics.bootstrap_difference import (
    BootstrapDifference,
    bootstrap_difference_of_means,
    bootstrap_differences,
)

pytestmark = pytest.mark.usefixtures("full_reports")

TARGETS = np.arange(200) % 2


def with_errors(count):
    answers = TARGETS.copy()
    answers[:count] = 1 - answers[:count]
    return answers


def test_bootstrap_difference_to_itself_is_zero():
    (gain,) = bootstrap_differences("accuracy", TARGETS, [TARGETS], TARGETS)
    assert gain == BootstrapDifference(0.0, 0.0, 0.0)


def test_bootstrap_interval_excludes_zero_for_a_large_difference_only():
    large, small = bootstrap_differences("accuracy", with_errors(20), [with_errors(60), with_errors(21)], TARGETS)
    assert large.difference == pytest.approx(0.2)
    assert 0 < large.low < 0.2 < large.high
    assert small.difference == pytest.approx(0.005)
    assert small.low <= 0 < small.high


@pytest.mark.parametrize("metric", ["accuracy", "matthews"])
def test_bootstrap_differences_are_antisymmetric_and_deterministic(metric, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr("litebert.tasks.metrics.bootstrap_difference.RESAMPLES", 50)
    first, second = with_errors(20), with_errors(60)
    (gain,) = bootstrap_differences(metric, first, [second], TARGETS)
    (loss,) = bootstrap_differences(metric, second, [first], TARGETS)
    assert gain.difference == -loss.difference
    assert (gain.low, gain.high) == pytest.approx((-loss.high, -loss.low))
    assert bootstrap_differences(metric, first, [second], TARGETS) == [gain]


def test_bootstrap_difference_of_lists():
    targets = [["O", "B-X"], ["B-X"], ["O"]] * 3
    (gain,) = bootstrap_differences("entity_f1", targets, [[["O", "O"], ["B-X"], ["O"]] * 3], targets)
    assert gain.difference > 0
    assert gain.to_text().startswith(f"{gain.difference:+.4f} (95 % interval ")


def difference_of_two(metric, first, second, targets, **options):
    (found,) = bootstrap_differences(metric, first, [second], targets, **options)
    return found


def difference_of_means_of_one(metric, first, second, targets, **options):
    return bootstrap_difference_of_means(metric, [first], [second], targets, **options)


@pytest.mark.parametrize("difference_of", [difference_of_two, difference_of_means_of_one])
def test_difference_of_single_runs_has_the_95_percent_interval_of_the_paired_differences(difference_of):
    rng = np.random.default_rng(0)
    targets = rng.integers(2, size=2_000)
    first, second = (np.where(rng.random(2_000) < share, targets, 1 - targets) for share in (0.8, 0.7))
    paired = (first == targets).astype(float) - (second == targets)
    found = difference_of("accuracy", first, second, targets)
    assert found.difference == pytest.approx(paired.mean())
    half_width = 1.96 * paired.std() / len(targets) ** 0.5
    assert (found.high - found.low) / 2 == pytest.approx(half_width, rel=0.1)


def test_difference_of_means_is_that_of_all_runs_and_its_interval_covers_the_seeds():
    one, alike = with_errors(40), [with_errors(count) for count in (20, 20, 20)]
    apart = [with_errors(count) for count in (0, 20, 40)]
    narrow, wide = (bootstrap_difference_of_means("accuracy", runs, [one], TARGETS) for runs in (alike, apart))
    assert narrow.difference == pytest.approx(0.1)
    assert wide.difference == pytest.approx(0.1)
    assert wide.low < narrow.low < 0.1 < narrow.high < wide.high


def test_difference_of_means_of_a_group_to_itself_is_about_zero():
    runs = [with_errors(count) for count in (10, 30)]
    found = bootstrap_difference_of_means("accuracy", runs, runs, TARGETS)
    assert found.difference == 0.0
    assert found.low < 0 < found.high
    same = bootstrap_difference_of_means("accuracy", runs[:1], runs[:1], TARGETS)
    assert same == BootstrapDifference(0.0, 0.0, 0.0)


@pytest.mark.parametrize("difference_of", [difference_of_two, difference_of_means_of_one])
def test_examples_of_one_group_are_drawn_together(difference_of):
    """40 passages whose 25 questions are all right or all wrong are 40 observations, not 1,000."""
    rng = np.random.default_rng(0)
    targets, groups = np.ones(1000, dtype=int), np.repeat(np.arange(40), 25).tolist()
    first, second = (np.repeat(rng.random(40) < 0.7, 25).astype(int) for _ in range(2))
    alone, together = (difference_of("accuracy", first, second, targets, groups=each) for each in (None, groups))
    assert alone.difference == together.difference
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(5, rel=0.15)
    assert difference_of("accuracy", first, second, targets, groups=["a"] * 1000) == alone
    assert difference_of("accuracy", first, second, targets, groups=list(range(1000))) == alone
