"""Gains with their intervals."""

import numpy as np
import pytest

from litebert.tasks.metrics.bootstrap_difference import BootstrapDifference, bootstrap_differences

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
