"""Tables of sweeps."""

import csv
import io

from litebert.commands.sweep.trial_results import (
    as_csv,
    configuration_rows,
    configurations_of,
    failure_summary,
    markdown_table,
    trial_rows,
)
from litebert.tasks.metrics.text_table import aligned
from support.runs.sweeps import RESULTS, done


def test_sweep_csv_has_a_row_for_each_trial_with_all_digits():
    rows = list(csv.DictReader(io.StringIO(as_csv([*RESULTS, done("d", 1 / 3, rate=4, seed=0)]))))
    assert [row["trial"] for row in rows] == ["a0", "a1", "b0", "b1", "c0", "d"]
    assert rows[-1]["accuracy"] == str(1 / 3)
    assert (rows[4]["state"], rows[4]["accuracy"], rows[4]["rate"]) == ("failed", "", "3")


def test_failure_summary_names_every_trial_that_is_not_done():
    replacement = done("b1001", 0.9, rate=2, seed=1001, replaces="b1")
    unfinished = done("d0", None, rate=4, seed=0, state="unfinished")
    text = failure_summary([*RESULTS, replacement, unfinished])
    assert "collapsed: b1: " in text
    assert "; replaced by b1001" in text
    assert "failed: c0: " in text
    assert "unfinished: d0: the same command resumes it" in text
    assert "a0" not in text


def test_configuration_rows_show_the_spread_of_several_seeds():
    single = done("e0", 0.25, seed=0)
    assert configuration_rows(configurations_of([single]), "accuracy")[1] == [
        "(all seeds)",
        "1",
        "0.2500",
        "",
        "",
        "0.2500",
    ]
    rows = configuration_rows(configurations_of(RESULTS), "accuracy")
    assert rows[1] == ["rate 1", "2", "0.7000", "range 0.6000 to 0.8000", "0.7000 ± 0.1414", "0.8000"]
    assert rows[3] == ["rate 3", "0 of 1 seeds", "", "", "", ""]


def test_sweep_tables_have_aligned_columns():
    lines = aligned(trial_rows(RESULTS)).splitlines()
    assert len({len(line) for line in lines}) == 1 or lines[0].endswith("state")
    assert markdown_table([["a", "b"], ["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert markdown_table([]) == ""
