import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.mlm_probability import LinearSchedule
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError


def test_linear_schedule_of_a_number_is_constant():
    assert [LinearSchedule.parse(0.15).at(step) for step in (0, 1, 10**9)] == [0.15] * 3


def test_linear_schedule_moves_linearly_and_then_is_constant():
    ramp = LinearSchedule.parse("0.30 to 0.15 in 100_000 steps")
    assert [ramp.at(step) for step in (0, 50_000, 100_000, 10**9)] == pytest.approx([0.3, 0.225, 0.15, 0.15])


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.integers(0, 10**6), st.integers(0, 10**7))
def test_linear_schedule_stays_between_start_and_end(start, end, steps, step):
    assert min(start, end) - 1e-12 <= LinearSchedule(start, end, steps).at(step) <= max(start, end) + 1e-12


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
