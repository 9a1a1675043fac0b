import pytest

from litebert.corpus.example_settings import ExampleSettings
from litebert.errors import ConfigError


def test_settings_survive_a_round_trip():
    assert ExampleSettings.parse(ExampleSettings().to_dict(), where="test") == ExampleSettings()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_length", 7),
        ("masked_fraction", 0.0),
        ("max_ngram", 0),
        ("max_predictions", 0),
        ("pairing", "mop"),
        ("short_every", -1),
    ],
)
def test_values_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ConfigError, match=field):
        ExampleSettings.parse({field: value}, where="test")


def test_shares_of_masked_and_random_tokens_must_fit_into_one():
    with pytest.raises(ConfigError, match="must not add up to more than 1"):
        ExampleSettings.parse({"mask_probability": 0.9, "random_probability": 0.2}, where="test")
