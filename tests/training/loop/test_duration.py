"""A duration is one value with a unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.settings import Settings
from litebert.training.loop.duration import Duration


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
def test_duration_parses_amount_and_unit(text, amount, unit):
    assert Duration.parse(text) == Duration(float(amount), unit)


@pytest.mark.parametrize(
    "text", ["2000", "steps", "0 steps", "-1 steps", "1e999 steps", "1.2.3 steps", "3 fortnights", "", 5]
)
def test_duration_refuses_other_text(text):
    with pytest.raises(ConfigError, match="is not a duration: expected a positive number and a unit"):
        Duration.parse(text)


@given(st.floats(1e-3, 1e15), st.sampled_from(["steps", "examples", "tokens", "epochs", "seconds"]))
def test_duration_parse_is_the_inverse_of_str(amount, unit):
    duration = Duration(amount, unit)
    assert Duration.parse(str(duration)) == duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2700 seconds", "45 min"),
        ("12.5 seconds", "12.5 s"),
        ("1 step", "1 step"),
        ("125k steps", "125,000 steps"),
        ("0.5 epochs", "0.5 epochs"),
        ("30M tokens", "30,000,000 tokens"),
    ],
)
def test_duration_to_text_has_readable_units(text, expected):
    assert Duration.parse(text).to_text() == expected


def test_settings_read_and_write_durations_as_text():
    class Run(Settings):
        length: Duration

    run = Run.parse({"length": "5 minutes"}, where="test")
    assert run.length == Duration(300.0, "seconds")
    assert run.to_dict() == {"length": "300 seconds"}
    assert Run.model_json_schema()["properties"]["length"]["type"] == "string"
    with pytest.raises(ConfigError, match="length: '5' is not a duration"):
        Run.parse({"length": "5"}, where="test")
