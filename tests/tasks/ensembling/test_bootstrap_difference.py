"""Gains with their intervals."""

import numpy as np
import pytest

from litebert.tasks.ensembling.bootstrap_difference import BootstrapDifference, paired_gains

TARGETS = np.arange(200) % 2


def with_errors(count):
    answers = TARGETS.copy()
    answers[:count] = 1 - answers[:count]
    return answers


def test_the_gain_over_itself_is_nothing_and_certainly_so():
    (gain,) = paired_gains("accuracy", TARGETS, [TARGETS], TARGETS)
    assert gain == BootstrapDifference(0.0, 0.0, 0.0)


def test_a_large_gain_is_certain_and_a_small_one_is_not():
    large, small = paired_gains("accuracy", with_errors(20), [with_errors(60), with_errors(21)], TARGETS)
    assert large.difference == pytest.approx(0.2)
    assert 0 < large.low < 0.2 < large.high
    assert small.difference == pytest.approx(0.005)
    assert small.low <= 0 < small.high


@pytest.mark.parametrize("metric", ["accuracy", "matthews"])
def test_gains_are_antisymmetric_and_the_same_every_time(metric, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr("litebert.tasks.ensembling.bootstrap_difference.RESAMPLES", 50)
    first, second = with_errors(20), with_errors(60)
    (gain,) = paired_gains(metric, first, [second], TARGETS)
    (loss,) = paired_gains(metric, second, [first], TARGETS)
    assert gain.difference == -loss.difference
    assert (gain.low, gain.high) == pytest.approx((-loss.high, -loss.low))
    assert paired_gains(metric, first, [second], TARGETS) == [gain]


def test_answers_that_are_lists_can_be_resampled():
    targets = [["O", "B-X"], ["B-X"], ["O"]] * 3
    (gain,) = paired_gains("entity_f1", targets, [[["O", "O"], ["B-X"], ["O"]] * 3], targets)
    assert gain.difference > 0
    assert gain.to_text().startswith(f"{gain.difference:+.4f} (95 % interval ")
