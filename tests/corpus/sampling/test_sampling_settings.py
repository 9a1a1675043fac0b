import pytest

from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError


def test_settings_survive_a_round_trip():
    assert SamplingSettings.parse(SamplingSettings().to_dict(), where="test") == SamplingSettings()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_length", 7),
        ("mlm_probability", 0.0),
        ("max_ngram", 0),
        ("max_predictions_per_seq", 0),
        ("pairing", "mop"),
        ("short_every", -1),
    ],
)
def test_values_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ConfigError, match=field):
        SamplingSettings.parse({field: value}, where="test")


def test_shares_of_masked_and_random_tokens_must_fit_into_one():
    with pytest.raises(ConfigError, match="must not add up to more than 1"):
        SamplingSettings.parse({"mask_token_prob": 0.9, "random_token_prob": 0.2}, where="test")
