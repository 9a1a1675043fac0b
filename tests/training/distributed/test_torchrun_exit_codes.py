"""Several processes end like one: with the exit code of the first that failed, or of the signal."""

import signal
from unittest.mock import Mock

import pytest
from torch.distributed import run as torch_run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from litebert.errors import LitebertError
from litebert.training.distributed.torchrun import torchrun


@pytest.fixture
def ended(monkeypatch):
    """Returns a function that runs processes which end with an exception of torchrun."""

    def run(error):
        monkeypatch.setattr(torch_run, "run", Mock(side_effect=error))
        return torchrun(["command"])

    return run


def failed(**exit_codes):
    """Processes with these exit codes, by the second of their end."""
    failures = {}
    for rank, (second, code) in enumerate(exit_codes.items()):
        failures[rank] = ProcessFailure(rank, 100 + rank, code, "<N/A>")
        failures[rank].timestamp = int(second.removeprefix("at_"))
    return ChildFailedError("litebert", failures)


def test_the_exit_code_is_that_of_the_process_that_failed_first(ended):
    assert ended(failed(at_20=1, at_10=3)) == 3


def test_a_killed_process_is_named(ended):
    with pytest.raises(LitebertError, match="process 1 was killed by SIGKILL; if memory ran out, set a smaller micro"):
        ended(failed(at_20=1, at_10=-signal.SIGKILL))


def test_the_exit_code_after_a_signal_is_that_of_one_process(ended):
    assert ended(SignalException("stopped", sigval=signal.SIGTERM)) == 128 + signal.SIGTERM


def test_processes_without_an_error_end_with_zero(ended):
    assert ended(None) == 0
