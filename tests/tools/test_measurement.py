"""What benchmarks measure with: clocks, ratios with intervals, and the report of training speed."""

import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_path(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.fixture
def row():
    """Makes a row of a case from the seconds of its steps."""
    from measurement.speed_report import Figures, Row
    from measurement.step_times import Timing

    def make(library, variant, *seconds):
        turns = [Figures(2, 100, 10.0, Timing(each, peak_bytes=2**20, first_loss=9.0)) for each in seconds]
        return Row(library, variant, turns)

    return make


def test_one_thread_is_timed_by_the_clock_of_the_process():
    from measurement.clocks import clock_for, seconds_of

    assert clock_for(2) is time.perf_counter
    assert seconds_of(lambda: time.sleep(0.2), clock_for(1)) < 0.1


def test_contestants_take_turns_of_some_calls_each():
    from measurement.clocks import fastest_in_turn

    called, ticks = [], iter(range(100))
    actions = [lambda: called.append("a"), lambda: called.append("b")]
    assert fastest_in_turn(actions, turns=2, calls=2, clock=lambda: next(ticks)) == [1, 1]
    assert "".join(called) == "aabbaabb"


def test_interval_of_paired_times_leaves_out_what_slows_both():
    from measurement.ratios import ratio_of

    load = [1.0, 3.0, 1.5, 2.0, 5.0, 1.0]
    paired = ratio_of([2 * each for each in load], load, paired=True)
    assert str(paired) == "2.00 (2.00 to 2.00)"
    unpaired = ratio_of([2 * each for each in load], load, paired=False)
    assert unpaired.low < 1.5 < 2.0 == unpaired.value < 2.7 < unpaired.high


def test_ratio_of_a_case_is_that_of_the_fastest_turns_with_its_range(row):
    from measurement.speed_report import Case

    case = Case("tiny", "full", 8, [row("transformers", "sdpa", 2.0, 1.0), row("transformers", "fp32", 4.0, 4.0)])
    assert (case.ratio, case.memory_ratio) == (None, None)
    case.rows += [row("litebert", "sdpa", 1.0, 0.8), row("litebert", "unpadded", 5.0, 5.0)]
    values = case.to_dict(matmul_flops=2000.0, peak_flops=None)
    assert values["ratio"] == pytest.approx(1.25)
    assert values["ratio_of_turns"] == pytest.approx([1.25, 2.0])
    assert values["ratio_to_fp32"] == pytest.approx(5.0)
    assert values["memory_ratio"] == 1
    assert values["rows"][2]["of_matmul_rate"] == pytest.approx(100 / 0.8 * 10 / 2000)
    assert not {"note", "failed", "output_difference"} & values.keys()


def test_row_with_another_loss_has_no_speed(row):
    from training_speed import refuse_other_loss

    first, other = row("transformers", "sdpa", 1.0), row("litebert", "sdpa", 0.1)
    refuse_other_loss(other, first)
    assert other.fastest is not None
    object.__setattr__(first.turns[0].timing, "first_loss", 8.0)
    refuse_other_loss(other, first)
    assert other.to_dict(matmul_flops=1.0, peak_flops=None) == {
        "library": "litebert",
        "variant": "sdpa",
        "note": "refused: its loss is 9.0000, not 8.0000",
    }
