"""Verdicts on claims from made-up scores."""

from math import nan

import numpy as np
import pytest
from scipy import stats

from litebert.commands.reproduce.claims import t_test, verdict
from litebert.commands.reproduce.report import TableReport
from litebert.commands.reproduce.scores import Scores
from litebert.commands.reproduce.tables.paper_tables import Table, load_table

ROWS = [{"name": "a", "model": "m", "paper": {"average": 80.0}}, {"name": "b", "model": "m"}]


def judge(claim, a, b):
    listed = [{"about": "c", "metric": "average", **claim}]
    table = Table.parse({"title": "t", "rows": ROWS, "claims": listed}, where="t")
    return verdict(table.claims[0], table, Scores({"a": {"average": a}, "b": {"average": b}}, {}))


ORDERING = {"kind": "ordering", "greater": "a", "less": "b"}


def test_ordering_is_held_by_a_clear_difference_and_not_held_by_the_opposite():
    assert judge(ORDERING, [60.0, 61.0, 60.5], [50.0, 51.5, 50.2]).state == "held"
    assert judge(ORDERING, [50.0, 51.5, 50.2], [60.0, 61.0, 60.5]).state == "not held"
    assert judge(ORDERING, [50.0, 53.0, 49.0], [51.0, 50.0, 50.0]).state == "undecided"


def test_ordering_has_the_p_value_of_a_paired_t_test():
    a, b = [60.0, 58.0, 61.0, 59.0], [57.0, 58.5, 58.0, 56.0]
    expected = stats.ttest_rel(a, b, alternative="greater").pvalue
    assert judge(ORDERING, a, b).p_value == pytest.approx(expected)


def test_claims_of_two_seeds_are_undecided():
    assert judge(ORDERING, [60.0, 60.1], [50.0, 50.3]).state == "undecided"
    assert judge({"kind": "equivalence", "of": "a", "to": "b", "within": 1}, [50.0], [50.0]).state == "undecided"


def test_claims_use_the_seeds_that_both_rows_have():
    found = judge(ORDERING, [60.0, None, 61.0, 60.2], [50.0, 99.0, 50.5, 50.1])
    assert (found.state, found.seen) == ("held", "60.4 against 50.2, 3 seeds")
    assert judge(ORDERING, [None], [50.0]).seen == "not measured"


def test_ordering_compares_with_the_best_of_several_rows():
    rows = [{"name": name, "model": "m"} for name in "ab"] + [{"name": "c", "ensemble_of": ["a", "b"]}]
    claim = {"kind": "ordering", "about": "x", "metric": "average", "greater": "c", "less": ["a", "b"]}
    table = Table.parse({"title": "t", "rows": rows, "claims": [claim]}, where="t")
    scores = {"a": [1.0, 9.0, 2.0, 3.0], "b": [8.0, 2.0, 9.0, None], "c": [9.0, 10.2, 10.1, 11.0]}
    found = verdict(table.claims[0], table, Scores({row: {"average": values} for row, values in scores.items()}, {}))
    assert (found.state, found.seen) == ("held", "9.8 against 8.7, 3 seeds")


def test_recipes_that_differ_from_the_paper_are_named():
    rows = [{"name": "cola", "recipe": "cola", "paper": {"batch_size": 16, "max_length": 512}}]
    table = Table.parse({"title": "t", "rows": rows, "claims": [{"kind": "same_settings", "about": "x"}]}, where="t")
    equal, differing = (
        verdict(table.claims[0], table, Scores({"cola": {"batch_size": [16], "max_length": [length]}}, {}))
        for length in (512, 128)
    )
    assert (equal.state, equal.seen) == ("held", "2 settings are equal")
    assert (differing.state, differing.seen) == ("not held", "cola: max_length differ")


def test_settings_of_recipes_are_the_same_for_every_seed():
    table = load_table("table-14")
    scores = {row.name: {name: [value] * 3 for name, value in row.paper.items()} for row in table.rows}
    claim = next(claim for claim in table.claims if claim.kind == "same_settings")
    assert verdict(claim, table, Scores(scores, {})).state == "held"


def test_report_says_what_an_ensemble_gains_over_its_members():
    rows = [{"name": name, "model": "m"} for name in "ab"] + [{"name": "both", "ensemble_of": ["a", "b"]}]
    table = Table.parse({"title": "t", "rows": rows}, where="t")
    values = {"a": {"cola": [10.0]}, "b": {"cola": [20.0]}, "both": {"cola": [21.5]}}
    report = TableReport.of("t", table, Scores(values, {}), [], scale="s", figures=[])
    assert report.gains == ["cola: both +1.5 points over its best member, +6.5 over the mean of its 2 members."]
    assert report.gains[0] in report.to_markdown()


def test_ordering_compares_with_a_number():
    assert judge({**ORDERING, "less": 50.0}, [52.0, 53.0, 52.5], []).state == "held"


@pytest.mark.parametrize(
    ("values", "state"),
    [([50.1, 49.9, 50.05], "held"), ([60.0, 61.0, 60.5], "not held"), ([44.0, 55.0, 51.0], "undecided")],
)
def test_equivalence_is_two_one_sided_tests(values, state):
    claim = {"kind": "equivalence", "of": "a", "to": 50.0, "within": 3.0}
    assert judge(claim, values, []).state == state


def test_t_test_of_equal_differences_decides_nothing():
    assert t_test(np.array([2.0, 2.0, 2.0]), 0, "greater") == 1
    assert t_test(np.zeros(3), 0, "less") == 1


def test_interval_compares_the_median_with_the_paper():
    claim = {"kind": "interval", "of": "a", "within": 1.0}
    assert judge(claim, [79.5, 80.4, 90.0], []).state == "held"
    assert judge(claim, [75.0], []).state == "not held"
    assert judge(claim, [], []).state == "undecided"


def test_exact_claims_of_table_1_are_held():
    table = load_table("table-1")
    found = [verdict(claim, table, Scores({}, {})) for claim in table.claims]
    assert [each.state for each in found] == ["held"] * 6


def test_exact_claim_of_another_number_is_not_held():
    claim = {"kind": "exact", "preset": "albert-base-v1", "parameters": 12_000_000, "about": "c"}
    table = Table.parse({"title": "t", "claims": [claim]}, where="t")
    assert verdict(table.claims[0], table, Scores({}, {})).state == "not held"


def test_average_without_a_task_of_the_paper_is_undecided():
    rows = [{"name": "a", "model": "m", "paper": {"average": 80.1, "mnli": 82.0, "race": 64.0}}]
    claim = {"kind": "interval", "about": "c", "metric": "average", "of": "a", "within": 1.0}
    table = Table.parse({"title": "t", "rows": rows, "claims": [claim]}, where="t")
    found = verdict(table.claims[0], table, Scores({"a": {"average": [84.0], "mnli": [82.0]}}, {}))
    assert (found.state, found.seen) == ("undecided", "without race, which the paper's average includes")
    whole = Scores({"a": {"average": [80.0], "mnli": [82.0], "race": [64.0]}}, {})
    assert verdict(table.claims[0], table, whole).state == "held"


NON_INFERIORITY = {"kind": "non_inferiority", "of": "a", "to": "b", "within": 1.0}


@pytest.mark.parametrize(
    ("a", "state"),
    [([62.0, 63.1, 62.5], "held"), ([49.8, 51.1, 50.1], "held"), ([40.0, 42.5, 40.2], "not held")],
)
def test_non_inferiority_allows_any_gain_and_a_loss_within_the_margin(a, state):
    assert judge(NON_INFERIORITY, a, [50.0, 51.5, 50.2]).state == state


@pytest.mark.parametrize("less", ["b", ("b",)])
def test_baseline_is_compared_with_every_seed(less):
    rows = [{"name": "a", "model": "m"}, {"name": "b", "baseline": "linear"}]
    claim = {"kind": "ordering", "about": "c", "metric": "average", "greater": "a", "less": less}
    table = Table.parse({"title": "t", "rows": rows, "claims": [claim]}, where="t")
    scores = Scores({"a": {"average": [90.0, 91.0, 92.0]}, "b": {"average": [80.0]}}, {})
    found = verdict(table.claims[0], table, scores)
    assert (found.state, found.seen) == ("held", "91.0 against 80.0, 3 seeds")


def test_pictures_are_of_the_first_seed_that_all_rows_have():
    first, second = {"curve": [(1, 0.1)]}, {"curve": [(1, 0.2)]}
    scores = Scores({}, {"a": {0: [first], 1: [second]}, "b": {1: [second]}, "c": {0: [{"distances": [1.0]}]}})
    assert scores.of_first_seed("curve") == {"a": second, "b": second}
    assert Scores({}, {"a": {0: [first]}, "b": {1: [second]}}).of_first_seed("curve") == {}
    assert Scores({}, {}).of_first_seed("curve") == {}


def test_cell_says_how_many_seeds_have_a_score():
    scores = {"a": {"average": [50.0, None, 60.0]}, "b": {"average": [70.0, nan, nan]}, "c": {"average": [None] * 3}}
    rows = [{"name": name, "paper": {"average": 90.1}, "values": values, "runs": []} for name, values in scores.items()]
    report = TableReport("t", "T", "", "tiny", ["average"], rows, [], [], [], [])
    assert report.to_markdown().splitlines()[-3:] == [
        "| a | 55.0 [50.0, 60.0] (2 of 3 seeds) (90.1) |",
        "| b | 70.0 (1 of 3 seeds) (90.1) |",
        "| c | – (90.1) |",
    ]
