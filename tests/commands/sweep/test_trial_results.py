"""What became of each run, and what the runs of a configuration come to."""

from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.sweep.trial_results import SweepPaths, configurations_of
from support.sweeps import OUTCOMES, done


def test_configurations_are_ordered_by_their_median_and_failed_ones_are_last():
    found = configurations_of(OUTCOMES)
    assert [row.settings for row in found] == [{"rate": 1}, {"rate": 2}, {"rate": 3}]
    assert found[0].statistics["accuracy"].median == 0.7
    assert found[0].statistics["matthews"].best == 0.4
    assert found[2].statistics == {}


def test_a_collapsed_run_counts_until_another_stands_in_for_it():
    assert configurations_of(OUTCOMES)[1].runs == ("b0", "b1")
    failed = done("b1001", None, rate=2, seed=1001, state="failed", replaces="b1")
    assert configurations_of([*OUTCOMES, failed])[1].runs == ("b0", "b1")
    stand_in = done("b1001", 0.9, rate=2, seed=1001, replaces="b1")
    best = configurations_of([*OUTCOMES, stand_in])[0]
    assert (best.settings, best.runs) == ({"rate": 2}, ("b0", "b1001"))


@given(st.permutations([outcome for outcome in OUTCOMES if outcome.settings["rate"] < 3]))
def test_the_figures_do_not_depend_on_the_order_of_the_runs(outcomes):
    found = {row.settings["rate"]: row.statistics for row in configurations_of(outcomes)}
    assert found == {row.settings["rate"]: row.statistics for row in configurations_of(OUTCOMES) if row.statistics}


def test_each_run_has_places_of_its_own(tmp_path):
    places = SweepPaths(tmp_path)
    names = [place(name) for place in (places.run, places.failure, places.log) for name in ("a", "b")]
    assert len(set(names)) == 6
