import pytest

from litebert.corpus.sampling.sampling_settings import PRESETS, SamplingSettings
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


def preset(name, **changes):
    return SamplingSettings.parse({"preset": name, **changes}, where="test")


@pytest.mark.parametrize("name", PRESETS)
def test_preset_changes_only_the_settings_it_lists(name):
    usual, chosen = SamplingSettings().to_dict(), preset(name).to_dict()
    assert {key: value for key, value in chosen.items() if value != usual[key]} == PRESETS[name]


@pytest.mark.parametrize("name", PRESETS)
def test_preset_can_be_changed_and_sets_no_length(name):
    assert preset(name, max_length=128, mlm_probability=0.3).to_dict() == {
        **preset(name).to_dict(),
        "max_length": 128,
        "mlm_probability": 0.3,
    }


def test_preset_survives_a_round_trip():
    chosen = preset("google")
    assert SamplingSettings.parse(chosen.to_dict(), where="test") == chosen


def test_preset_with_an_unknown_name_is_refused():
    with pytest.raises(
        ConfigError, match="unknown preset 'albert'; expected one of google, bert, bert_whole_word, spanbert"
    ):
        preset("albert")


def test_short_seq_schedule_random_needs_dupe_factor():
    with pytest.raises(ConfigError, match="needs dupe_factor"):
        SamplingSettings.parse({"short_seq_schedule": "random"}, where="test")
    with pytest.raises(ConfigError, match="needs dupe_factor"):
        preset("google", dupe_factor=0)
