"""Learning rates at the start, the peak and the end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from litebert.errors import ConfigError
from litebert.training.optim.lr_schedules import Schedule, lr_multiplier
from support.toy import settings

SHAPES = ["constant", "linear", "polynomial", "cosine", "warmup_stable_decay", "original"]
TO_ZERO = ["linear", "polynomial", "cosine", "warmup_stable_decay"]


def named(shape: str) -> Schedule:
    return TypeAdapter(Schedule).validate_python(shape)


def factors(shape: str, *, total: int, warmup: int) -> list[float]:
    """Share of the peak for every update of a run."""
    return [
        lr_multiplier(named(shape), step / total, warmup=warmup / total, step_share=1 / total) for step in range(total)
    ]


@pytest.mark.parametrize("shape", SHAPES)
@given(progress=st.floats(0, 1), warmup=st.floats(0, 0.99), step_share=st.floats(0, 0.5))
def test_rate_never_leaves_zero_to_peak(shape, progress, warmup, step_share):
    assert 0 <= lr_multiplier(named(shape), progress, warmup=warmup, step_share=step_share) <= 1


@pytest.mark.parametrize("shape", [*TO_ZERO, "constant"])
def test_warm_up_wastes_no_step_and_ends_at_the_peak(shape):
    rates = factors(shape, total=20, warmup=4)
    assert rates[:4] == pytest.approx([0.25, 0.5, 0.75, 1])
    assert rates[4] == 1


@pytest.mark.parametrize("shape", TO_ZERO)
def test_rate_falls_to_zero_just_after_the_last_step(shape):
    rates = factors(shape, total=20, warmup=4)
    assert all(earlier >= later > 0 for earlier, later in pairwise(rates[4:]))
    assert lr_multiplier(named(shape), 1.0, warmup=0.2) == pytest.approx(0)


@pytest.mark.parametrize("shape", [*TO_ZERO, "constant"])
def test_without_warm_up_the_first_rate_is_the_peak(shape):
    assert factors(shape, total=10, warmup=0)[0] == 1


def test_constant_stays():
    assert set(factors("constant", total=20, warmup=4)[3:]) == {1.0}


def test_linear_is_halfway_down_halfway_on():
    assert lr_multiplier(named("linear"), 0.6, warmup=0.2) == pytest.approx(0.5)


def test_cosine_is_halfway_down_halfway_on():
    assert lr_multiplier(named("cosine"), 0.6, warmup=0.2) == pytest.approx(0.5)


def test_polynomial_has_its_power():
    cubic = TypeAdapter(Schedule).validate_python({"shape": "polynomial", "power": 3})
    assert lr_multiplier(cubic, 0.6, warmup=0.2) == pytest.approx(0.125)


def test_warmup_stable_decay_is_stable_until_its_decay():
    schedule = TypeAdapter(Schedule).validate_python({"shape": "warmup_stable_decay", "decay_fraction": 0.5})
    assert lr_multiplier(schedule, 0.5, warmup=0.0) == 1
    assert lr_multiplier(schedule, 0.75, warmup=0.0) == pytest.approx(0.5)


def test_original_begins_with_a_rate_of_zero_and_jumps_where_warm_up_ends():
    """Source: `polynomial_decay` from step 0, overridden by `global_step / warmup` while global_step < warmup."""
    rates = factors("original", total=1000, warmup=25)
    assert rates[0] == 0
    assert rates[24] == pytest.approx(24 / 25)
    assert rates[25] == pytest.approx(1 - 25 / 1000) == pytest.approx(0.975)
    assert rates[999] == pytest.approx(1 / 1000)


@pytest.mark.parametrize("shape", SHAPES)
def test_settings_take_a_schedule_by_its_name_alone(shape):
    chosen = settings(schedule=shape)
    assert chosen.schedule.shape == shape
    assert settings(**chosen.to_dict()) == chosen


def test_a_parameter_of_another_schedule_is_refused():
    with pytest.raises(ConfigError, match="unknown setting"):
        settings(schedule={"shape": "cosine", "power": 2})


@pytest.mark.parametrize(
    "schedule", [{"shape": "polynomial", "power": 0}, {"shape": "warmup_stable_decay", "decay_fraction": 1.5}, "steep"]
)
def test_impossible_schedules_are_refused(schedule):
    with pytest.raises(ConfigError, match="schedule"):
        settings(schedule=schedule)
