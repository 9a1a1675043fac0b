"""A duration is one value with a unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.settings import Settings
from litebert.training.loop.duration import Duration
from litebert.training.loop.duration_converter import DurationConverter
from litebert.training.loop.progress import TrainingProgress

MEASURE = DurationConverter(batch_size=8, examples_per_epoch=20)


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("2000 steps", 2000, "steps"),
        ("1 step", 1, "steps"),
        ("1e6 examples", 1e6, "examples"),
        ("30M tokens", 30e6, "tokens"),
        ("1.5B tokens", 1.5e9, "tokens"),
        ("125k steps", 125_000, "steps"),
        ("3 epochs", 3, "epochs"),
        ("90 seconds", 90, "seconds"),
        ("5 minutes", 300, "seconds"),
        ("2 hours", 7200, "seconds"),
        ("1 day", 86400, "seconds"),
    ],
)
def test_text_gives_amount_and_unit(text, amount, unit):
    assert Duration.parse(text) == Duration(float(amount), unit)


@pytest.mark.parametrize(
    "text", ["2000", "steps", "0 steps", "-1 steps", "1e999 steps", "1.2.3 steps", "3 fortnights", "", 5]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ConfigError, match="is no duration: expected a positive number and a unit"):
        Duration.parse(text)


@given(st.floats(1e-3, 1e15), st.sampled_from(["steps", "examples", "tokens", "epochs", "seconds"]))
def test_printing_and_parsing_are_inverse(amount, unit):
    duration = Duration(amount, unit)
    assert Duration.parse(str(duration)) == duration


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2700 seconds", "45 minutes"),
        ("90 minutes", "90 minutes"),
        ("1 hour", "1 hour"),
        ("48 hours", "2 days"),
        ("12.5 seconds", "12.5 seconds"),
        ("1 step", "1 step"),
        ("125k steps", "125,000 steps"),
        ("0.5 epochs", "0.5 epochs"),
        ("30M tokens", "30,000,000 tokens"),
    ],
)
def test_a_person_is_told_the_largest_unit_that_fits(text, told):
    assert Duration.parse(text).told() == told


def test_settings_read_and_write_durations_as_text():
    class Run(Settings):
        length: Duration

    run = Run.parse({"length": "5 minutes"}, where="test")
    assert run.length == Duration(300.0, "seconds")
    assert run.to_dict() == {"length": "300 seconds"}
    assert Run.model_json_schema()["properties"]["length"]["type"] == "string"
    with pytest.raises(ConfigError, match="length: '5' is no duration"):
        Run.parse({"length": "5"}, where="test")


@pytest.mark.parametrize(
    ("text", "steps"), [("7 steps", 7), ("16 examples", 2), ("17 examples", 3), ("2 epochs", 5), ("9 tokens", None)]
)
def test_steps_are_rounded_up(text, steps):
    assert MEASURE.steps(Duration.parse(text)) == steps


@pytest.mark.parametrize("text", ["4 steps", "32 examples", "1.6 epochs", "100 tokens", "2 minutes"])
def test_share_goes_from_nothing_to_everything(text):
    duration = Duration.parse(text)
    assert MEASURE.share(duration, TrainingProgress()) == 0
    assert MEASURE.share(duration, TrainingProgress(step=2, tokens=50, seconds=60.0)) == 0.5
    assert MEASURE.share(duration, TrainingProgress(step=4, tokens=100, seconds=120.0)) == 1


@given(st.integers(1, 7), st.integers(1, 50))
def test_an_interval_ends_once_every_so_many_steps(every, total):
    duration = Duration(float(every), "steps")
    due = [MEASURE.due(duration, TrainingProgress(step), TrainingProgress(step + 1)) for step in range(total)]
    assert sum(due) == total // every
    assert due == [(step + 1) % every == 0 for step in range(total)]


@pytest.mark.parametrize(
    ("part", "whole", "share"),
    [
        ("1 step", "4 steps", 0.25),
        ("1 epoch", "6 steps", 0.5),
        ("6 seconds", "1 minute", 0.1),
        ("1k tokens", "1M tokens", 0.001),
    ],
)
def test_a_warm_up_may_have_another_unit_of_the_same_kind(part, whole, share):
    assert MEASURE.warmup_share(Duration.parse(part), Duration.parse(whole)) == pytest.approx(share)


@pytest.mark.parametrize(
    ("part", "whole"), [("10 steps", "5 minutes"), ("1 minute", "10 steps"), ("1M tokens", "2 hours")]
)
def test_a_warm_up_that_cannot_be_compared_is_refused(part, whole):
    with pytest.raises(ConfigError, match="warmup: how much of a run"):
        MEASURE.warmup_share(Duration.parse(part), Duration.parse(whole))


@pytest.mark.parametrize("warmup", ["6 steps", "7 steps"])
def test_a_warm_up_that_leaves_nothing_is_refused(warmup):
    with pytest.raises(ConfigError, match=r"warmup: . steps leaves nothing of a run of 6 steps"):
        MEASURE.warmup_share(Duration.parse(warmup), Duration.parse("6 steps"))


def test_a_warm_up_may_be_a_fraction():
    assert MEASURE.warmup_share(0.25, Duration.parse("5 minutes")) == 0.25
