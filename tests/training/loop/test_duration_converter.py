"""Durations are converted to steps and to fractions of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.training.loop.duration import Duration
from litebert.training.loop.run_schedule import DurationConverter, TrainingProgress

CONVERTER = DurationConverter(batch_size=8, examples_per_epoch=20)


@pytest.mark.parametrize(
    ("text", "steps"),
    [("7 steps", 7), ("16 examples", 2), ("17 examples", 3), ("2 epochs", 5), ("1e-12 epochs", 1), ("9 tokens", None)],
)
def test_steps_of_a_duration_are_rounded_up(text, steps):
    assert CONVERTER.steps(Duration.parse(text)) == steps


def test_rounding_error_of_a_duration_adds_no_step():
    assert 0.28 * 25 > 7
    assert DurationConverter(batch_size=1, examples_per_epoch=25).steps(Duration.parse("0.28 epochs")) == 7


@pytest.mark.parametrize("text", ["4 steps", "32 examples", "1.6 epochs", "100 tokens", "2 minutes"])
def test_fraction_of_a_duration_goes_from_zero_to_one(text):
    duration = Duration.parse(text)
    assert CONVERTER.fraction(duration, TrainingProgress()) == 0
    assert CONVERTER.fraction(duration, TrainingProgress(step=2, tokens=50, seconds=60.0)) == 0.5
    assert CONVERTER.fraction(duration, TrainingProgress(step=4, tokens=100, seconds=120.0)) == 1


@given(st.integers(1, 7), st.integers(1, 50))
def test_interval_is_due_once_every_so_many_steps(every, total):
    duration = Duration(float(every), "steps")
    due = [CONVERTER.due(duration, TrainingProgress(step), TrainingProgress(step + 1)) for step in range(total)]
    assert sum(due) == total // every
    assert due == [(step + 1) % every == 0 for step in range(total)]


@pytest.mark.parametrize(
    ("part", "whole", "fraction"),
    [
        ("1 step", "4 steps", 0.25),
        ("1 epoch", "6 steps", 0.5),
        ("6 seconds", "1 minute", 0.1),
        ("1k tokens", "1M tokens", 0.001),
    ],
)
def test_warmup_may_have_another_unit_of_the_same_kind(part, whole, fraction):
    assert CONVERTER.warmup_fraction(Duration.parse(part), Duration.parse(whole)) == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("part", "whole"), [("10 steps", "5 minutes"), ("1 minute", "10 steps"), ("1M tokens", "2 hours")]
)
def test_warmup_in_a_unit_that_cannot_be_converted_is_refused(part, whole):
    with pytest.raises(ConfigError, match=r"warmup: .* is not known in advance"):
        CONVERTER.warmup_fraction(Duration.parse(part), Duration.parse(whole))


@pytest.mark.parametrize("warmup", ["6 steps", "7 steps"])
def test_warmup_as_long_as_the_run_is_refused(warmup):
    with pytest.raises(ConfigError, match=r"warmup: . steps leaves nothing of a run of 6 steps"):
        CONVERTER.warmup_fraction(Duration.parse(warmup), Duration.parse("6 steps"))


def test_warmup_may_be_a_fraction():
    assert CONVERTER.warmup_fraction(0.25, Duration.parse("5 minutes")) == 0.25
