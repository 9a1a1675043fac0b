"""The number of processes that a command may start."""

import pytest

from litebert.commands.many_files.file_arguments import FileWorkers
from litebert.errors import ConfigError
from litebert.machine import MOST_PROCESSES_PER_CORE, num_cores, validate_processes
from litebert.serving.serve_settings import ServeSettings

MOST = MOST_PROCESSES_PER_CORE * num_cores()


@pytest.mark.parametrize("count", [1, MOST])
def test_process_limit_allows_one_and_the_most(count):
    validate_processes(count, where="jobs")


@pytest.mark.parametrize("count", [-1, 0, MOST + 1, 10**11])
def test_process_limit_names_the_allowed_range(count):
    with pytest.raises(ConfigError, match=f"jobs: expected 1 to {MOST}, .*, found {count}"):
        validate_processes(count, where="jobs")


def test_process_limit_holds_for_the_server_and_for_many_files():
    with pytest.raises(ConfigError, match="workers: expected 1 to"):
        ServeSettings(models=("model",), workers=10**11)
    with pytest.raises(ConfigError, match="workers: expected 1 to"):
        FileWorkers(workers=10**11)


def test_process_limit_does_not_hold_for_the_tasks_of_a_cluster():
    assert FileWorkers(workers=10**4, executor="slurm").workers == 10**4
