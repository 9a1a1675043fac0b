"""Presets have the settings of the publication or program they are named after."""

import pytest

from litebert.corpus.sampling.sampling_presets import PRESETS
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError


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
