import operator
import os

import pytest

from litebert.errors import DataError, LitebertError
from litebert.parallel_map import run_in_order


def refuse(number):
    raise DataError(f"file {number}: cannot be read")


def die(number):
    os._exit(1)


@pytest.mark.parametrize("workers", [1, 2])
def test_run_in_order_yields_results_in_order(workers):
    assert list(run_in_order(operator.neg, range(20), workers=workers)) == [-number for number in range(20)]


def test_run_in_order_reads_tasks_only_as_needed():
    taken = []
    tasks = (taken.append(number) or number for number in range(100))
    results = run_in_order(operator.neg, tasks, workers=2)
    next(results)
    results.close()
    assert len(taken) == 3


def test_run_in_order_raises_the_error_of_a_worker():
    with pytest.raises(DataError, match="file 0: cannot be read"):
        list(run_in_order(refuse, range(3), workers=2))


def test_run_in_order_reports_a_worker_that_died():
    with pytest.raises(LitebertError, match="finished parts are reused"):
        list(run_in_order(die, range(3), workers=2))
