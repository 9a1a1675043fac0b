"""Each preset means what the publication or program it is named for does."""

import pytest

from litebert.corpus.sampling.sampling_presets import PRESETS
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError


def preset(name, **changes):
    return SamplingSettings.parse({"preset": name, **changes}, where="test")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_differs_from_the_defaults_in_just_what_it_says(name):
    usual, chosen = SamplingSettings().to_dict(), preset(name).to_dict()
    assert {key: value for key, value in chosen.items() if value != usual[key]} == PRESETS[name]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_changed_and_says_no_length(name):
    assert preset(name, max_length=128, mlm_probability=0.3).to_dict() == {
        **preset(name).to_dict(),
        "max_length": 128,
        "mlm_probability": 0.3,
    }


def test_settings_of_a_preset_survive_a_round_trip():
    chosen = preset("original")
    assert SamplingSettings.parse(chosen.to_dict(), where="test") == chosen


def test_a_preset_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="there is no 'albert'; expected one of original, tokens, whole_words, spans"):
        preset("albert")


def test_short_passes_at_random_need_a_number_of_epochs():
    with pytest.raises(ConfigError, match="needs dupe_factor"):
        SamplingSettings.parse({"short_seq_schedule": "at_random"}, where="test")
    with pytest.raises(ConfigError, match="needs dupe_factor"):
        preset("original", dupe_factor=0)
