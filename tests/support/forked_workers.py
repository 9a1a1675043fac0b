"""Stand-in for the interpreters of `run_workers`: forks of a process that has imported torch, which start at once."""

import importlib
import multiprocessing
import os
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

WORKERS = ("litebert.commands.reproduce.worker", "litebert.commands.sweep.run_trials")


class ForkedWorker:
    """What `run_workers` needs of `subprocess.Popen`."""

    def __init__(self, command, *, stdout, env, **_):
        *_, module, argument = command
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*WORKERS, "torch._dynamo"])
        self._process = context.Process(target=run_worker, args=(module, argument, stdout.name, env))
        self._process.start()
        self.terminate = self._process.terminate
        self.wait = self._process.join

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self.returncode


def run_worker(module, argument, log, environment):
    """`python -m module argument` in a fork."""
    with open(log, "ab") as stream:
        for output in (sys.stdout, sys.stderr):
            os.dup2(stream.fileno(), output.fileno())
    os.environ.update(environment)
    torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    sys.argv = [module, argument]
    sys.exit(importlib.import_module(module).main())


@contextmanager
def forked_workers():
    """`run_workers` starts its workers as forks."""
    stand_in = SimpleNamespace(Popen=ForkedWorker, DEVNULL=subprocess.DEVNULL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("litebert.commands.worker_processes.subprocess", stand_in)
        yield
