import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.sampling_settings import PRESETS, LinearSchedule, SamplingSettings
from litebert.errors import ConfigError
from support.models.tolerances import tolerance


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
        ConfigError, match="unknown preset 'albert'; expected one of google, paper, bert, bert_whole_word, spanbert"
    ):
        preset("albert")


@pytest.mark.parametrize("probability", [1e-4, 0.0099])
def test_documents_are_short_often_enough_to_count_the_epochs_until_they_repeat(probability):
    with pytest.raises(ConfigError, match=rf"short_seq_prob {probability}: expected 0 or at least 0.01"):
        SamplingSettings.parse({"short_seq_prob": probability}, where="test")


def test_short_seq_schedule_random_needs_dupe_factor():
    with pytest.raises(ConfigError, match="needs dupe_factor"):
        SamplingSettings.parse({"short_seq_schedule": "random"}, where="test")
    with pytest.raises(ConfigError, match="needs dupe_factor"):
        preset("google", dupe_factor=0)


def test_linear_schedule_of_a_number_is_constant():
    assert [LinearSchedule.parse(0.15).at(step) for step in (0, 1, 10**9)] == [0.15] * 3


def test_linear_schedule_moves_linearly_and_then_is_constant():
    ramp = LinearSchedule.parse("0.30 to 0.15 in 100_000 steps")
    assert [ramp.at(step) for step in (0, 50_000, 100_000, 10**9)] == pytest.approx([0.3, 0.225, 0.15, 0.15])


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.integers(0, 10**6), st.integers(0, 10**7))
def test_linear_schedule_stays_between_start_and_end(start, end, steps, step):
    rounding = tolerance(torch.float64)
    assert min(start, end) - rounding <= LinearSchedule(start, end, steps).at(step) <= max(start, end) + rounding


@pytest.mark.parametrize(
    "value",
    [
        0,
        1.0,
        1.5,
        "much",
        "0.3 to 0.1",
        "0.3 to 0.1 in 5 minutes",
        "0.3 to 1.1 in 5 steps",
        "1..2 to 0.1 in 5 steps",
    ],
)
def test_linear_schedule_refuses_invalid_values(value):
    with pytest.raises(ConfigError, match="expected a probability between 0 and 1"):
        SamplingSettings.parse({"mlm_probability": value}, where="test")
