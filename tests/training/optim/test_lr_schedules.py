"""Learning rates at the start, the peak and the end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from litebert.errors import ConfigError
from litebert.training.optim.lr_schedules import Schedule, lr_multiplier
from support.runs.toy import settings

TYPES = ["constant", "linear", "polynomial", "cosine", "warmup_stable_decay", "linear_tf"]
TO_ZERO = ["linear", "polynomial", "cosine", "warmup_stable_decay"]


def named(name: str) -> Schedule:
    return TypeAdapter(Schedule).validate_python(name)


def factors(name: str, *, total: int, warmup: int) -> list[float]:
    """Share of the peak for every update of a run."""
    return [
        lr_multiplier(named(name), step / total, warmup=warmup / total, step_fraction=1 / total)
        for step in range(total)
    ]


@pytest.mark.parametrize("name", TYPES)
@given(progress=st.floats(0, 1), warmup=st.floats(0, 0.99), step_fraction=st.floats(0, 0.5))
def test_lr_multiplier_stays_between_zero_and_one(name, progress, warmup, step_fraction):
    assert 0 <= lr_multiplier(named(name), progress, warmup=warmup, step_fraction=step_fraction) <= 1


@pytest.mark.parametrize("name", [*TO_ZERO, "constant"])
def test_warmup_begins_above_zero_and_ends_at_the_peak(name):
    rates = factors(name, total=20, warmup=4)
    assert rates[:4] == pytest.approx([0.25, 0.5, 0.75, 1])
    assert rates[4] == 1


@pytest.mark.parametrize("name", TO_ZERO)
def test_schedule_reaches_zero_after_the_last_step(name):
    rates = factors(name, total=20, warmup=4)
    assert all(earlier >= later > 0 for earlier, later in pairwise(rates[4:]))
    assert lr_multiplier(named(name), 1.0, warmup=0.2) == pytest.approx(0)


@pytest.mark.parametrize("name", [*TO_ZERO, "constant"])
def test_schedule_without_warmup_begins_at_the_peak(name):
    assert factors(name, total=10, warmup=0)[0] == 1


def test_constant_schedule_is_constant():
    assert set(factors("constant", total=20, warmup=4)[3:]) == {1.0}


def test_linear_schedule_is_half_the_peak_halfway():
    assert lr_multiplier(named("linear"), 0.6, warmup=0.2) == pytest.approx(0.5)


def test_cosine_schedule_is_half_the_peak_halfway():
    assert lr_multiplier(named("cosine"), 0.6, warmup=0.2) == pytest.approx(0.5)


def test_polynomial_schedule_has_its_power():
    cubic = TypeAdapter(Schedule).validate_python({"type": "polynomial", "power": 3})
    assert lr_multiplier(cubic, 0.6, warmup=0.2) == pytest.approx(0.125)


def test_warmup_stable_decay_is_stable_until_its_decay():
    schedule = TypeAdapter(Schedule).validate_python({"type": "warmup_stable_decay", "decay_fraction": 0.5})
    assert lr_multiplier(schedule, 0.5, warmup=0.0) == 1
    assert lr_multiplier(schedule, 0.75, warmup=0.0) == pytest.approx(0.5)


def test_linear_tf_schedule_begins_at_zero_and_jumps_after_warmup():
    """Source: `polynomial_decay` from step 0, overridden by `global_step / warmup` while global_step < warmup."""
    rates = factors("linear_tf", total=1000, warmup=25)
    assert rates[0] == 0
    assert rates[24] == pytest.approx(24 / 25)
    assert rates[25] == pytest.approx(1 - 25 / 1000) == pytest.approx(0.975)
    assert rates[999] == pytest.approx(1 / 1000)


@pytest.mark.parametrize("name", TYPES)
def test_schedule_may_be_set_by_its_name(name):
    chosen = settings(schedule=name)
    assert chosen.schedule.type == name
    assert settings(**chosen.to_dict()) == chosen


def test_schedule_refuses_a_parameter_of_another():
    with pytest.raises(ConfigError, match="unknown setting"):
        settings(schedule={"type": "cosine", "power": 2})


@pytest.mark.parametrize(
    "schedule", [{"type": "polynomial", "power": 0}, {"type": "warmup_stable_decay", "decay_fraction": 1.5}, "steep"]
)
def test_schedule_refuses_invalid_values(schedule):
    with pytest.raises(ConfigError, match="schedule"):
        settings(schedule=schedule)
