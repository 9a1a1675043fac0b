"""Sweeps as tables."""

import csv
import io

from litebert.commands.sweep.sweep_tables import as_csv, configuration_rows, failure_summary, piped, run_rows
from litebert.commands.sweep.trial_results import configurations_of
from litebert.tasks.metrics.text_table import aligned
from support.sweeps import OUTCOMES, done


def test_csv_has_a_row_for_each_run_with_all_digits():
    rows = list(csv.DictReader(io.StringIO(as_csv([*OUTCOMES, done("d", 1 / 3, rate=4, seed=0)]))))
    assert [row["run"] for row in rows] == ["a0", "a1", "b0", "b1", "c0", "d"]
    assert rows[-1]["accuracy"] == str(1 / 3)
    assert (rows[4]["state"], rows[4]["accuracy"], rows[4]["rate"]) == ("failed", "", "3")


def test_every_run_that_is_not_simply_done_is_named():
    stand_in = done("b1001", 0.9, rate=2, seed=1001, replaces="b1")
    unfinished = done("d0", None, rate=4, seed=0, state="unfinished")
    text = failure_summary([*OUTCOMES, stand_in, unfinished])
    assert "collapsed: b1: " in text
    assert "; b1001 stands in for it" in text
    assert "failed: c0: " in text
    assert "unfinished: d0: the same command goes on" in text
    assert "a0" not in text


def test_configurations_show_their_spread_or_that_there_is_none():
    single = done("e0", 0.25, seed=0)
    assert configuration_rows(configurations_of([single]), "accuracy")[1] == [
        "(all seeds)",
        "1",
        "0.2500",
        "",
        "",
        "0.2500",
    ]
    rows = configuration_rows(configurations_of(OUTCOMES), "accuracy")
    assert rows[1] == ["rate 1", "2", "0.7000", "0.6000 to 0.8000", "0.7000 ± 0.1414", "0.8000"]
    assert rows[3] == ["rate 3", "0", "", "", "", ""]


def test_tables_line_up():
    lines = aligned(run_rows(OUTCOMES)).splitlines()
    assert len({len(line) for line in lines}) == 1 or lines[0].endswith("state")
    assert piped([["a", "b"], ["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert piped([]) == ""
