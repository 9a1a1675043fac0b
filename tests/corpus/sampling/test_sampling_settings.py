import pytest

from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError


def test_sampling_settings_survive_a_round_trip():
    assert SamplingSettings.parse(SamplingSettings().to_dict(), where="test") == SamplingSettings()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_length", 7),
        ("mlm_probability", 0.0),
        ("max_ngram", 0),
        ("max_predictions_per_seq", 0),
        ("pairing", "mop"),
        ("short_seq_prob", -1),
    ],
)
def test_sampling_settings_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ConfigError, match=field):
        SamplingSettings.parse({field: value}, where="test")


def test_replacement_probabilities_must_not_exceed_one():
    with pytest.raises(ConfigError, match="must not add up to more than 1"):
        SamplingSettings.parse({"mask_token_prob": 0.9, "random_token_prob": 0.2}, where="test")


@pytest.mark.parametrize(("probability", "period"), [(0, 0), (0.1, 10), (1 / 3, 3), (0.15, 7), (1, 1)])
def test_short_seq_period_is_the_rounded_reciprocal_of_the_probability(probability, period):
    assert SamplingSettings(short_seq_prob=probability).short_seq_period == period
