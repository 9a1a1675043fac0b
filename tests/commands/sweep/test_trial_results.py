"""Results of trials and of configurations."""

from dataclasses import replace
from math import nan

from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.sweep.trial_results import SweepPaths, configuration_rows, configurations_of
from support.runs.sweeps import RESULTS, done


def test_configurations_are_ordered_by_median_with_failed_ones_last():
    found = configurations_of(RESULTS)
    assert [row.settings for row in found] == [{"rate": 1}, {"rate": 2}, {"rate": 3}]
    assert found[0].statistics["accuracy"].median == 0.7
    assert found[0].statistics["matthews"].best == 0.4
    assert found[2].statistics == {}


def test_collapsed_trial_counts_until_it_is_replaced():
    assert configurations_of(RESULTS)[1].trials == ("b0", "b1")
    failed = done("b1001", None, rate=2, seed=1001, state="failed", replaces="b1")
    assert configurations_of([*RESULTS, failed])[1].trials == ("b0", "b1")
    replacement = done("b1001", 0.9, rate=2, seed=1001, replaces="b1")
    best = configurations_of([*RESULTS, replacement])[0]
    assert (best.settings, best.trials) == ({"rate": 2}, ("b0", "b1001"))


@given(st.permutations([result for result in RESULTS if result.settings["rate"] < 3]))
def test_configuration_statistics_do_not_depend_on_the_order_of_the_trials(results):
    assert without_order(results) == without_order(RESULTS)


def without_order(results):
    """The statistics of the finished configurations by their rate, with sorted scores."""
    return {
        row.settings["rate"]: {
            name: replace(each, scores=tuple(sorted(each.scores))) for name, each in row.statistics.items()
        }
        for row in configurations_of(results)
        if row.statistics
    }


def test_sweep_paths_of_trials_are_distinct(tmp_path):
    paths = SweepPaths(tmp_path)
    names = [path(name) for path in (paths.run, paths.files.failure, paths.files.log) for name in ("a", "b")]
    assert len(set(names)) == 6


def test_collapsed_trial_is_replaced_through_one_that_failed():
    failed = done("b1001", None, rate=2, seed=1001, state="failed", replaces="b1")
    replacement = done("b2001", 0.9, rate=2, seed=2001, replaces="b1001")
    assert configurations_of([*RESULTS, failed, replacement])[0].trials == ("b0", "b2001")


def test_scores_that_are_no_numbers_are_the_lowest():
    results = [
        done(name, score, rate=rate) for rate, (name, score) in enumerate({"a": 0.5, "b": nan, "c": 0.9}.items())
    ]
    assert [row.trials for row in configurations_of(results)] == [("c",), ("a",), ("b",)]


def test_configuration_that_diverges_with_most_seeds_is_behind_one_that_never_does():
    unstable = [done("a0", 0.86, rate=1, seed=0)]
    unstable += [done(f"a{seed}", None, rate=1, seed=seed, state="diverged") for seed in range(1, 5)]
    stable = [done(f"b{seed}", score, rate=2, seed=seed) for seed, score in enumerate((0.84, 0.85, 0.85, 0.85, 0.855))]
    best, other = configurations_of([*unstable, *stable])
    assert (best.settings, other.settings) == ({"rate": 2}, {"rate": 1})
    (_, first, second) = configuration_rows([best, other], "accuracy")
    assert (first[1], second[1]) == ("5", "1 of 5 seeds")
    replaced = [done(f"a{seed + 1000}", 0.86, rate=1, seed=seed + 1000, replaces=f"a{seed}") for seed in range(1, 5)]
    assert configurations_of([*unstable, *stable, *replaced])[0].settings == {"rate": 1}
