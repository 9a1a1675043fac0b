"""Processes that start at once: forks of a process that has imported torch, in place of new interpreters."""

import importlib
import multiprocessing
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from litebert.cli.main import main

IMPORTED = ("litebert.commands.reproduce.worker", "litebert.commands.sweep.run_trials", "torch._dynamo")


def fork(target, *arguments):
    """A started process that calls `target`; its `exitcode` is minus the signal that ended it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *IMPORTED])
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


def run_code(code, *arguments):
    """`python -c code arguments`."""
    torch.set_num_threads(1)
    sys.argv = ["-c", *map(str, arguments)]
    exec(code, {"__name__": "__main__"})


def run_litebert(*words):
    """`litebert words`, without its output."""
    torch.set_num_threads(1)
    _write_output_to(os.devnull)
    sys.exit(main(words))


def run_worker(module, argument, log, environment):
    """`python -m module argument`, with its output in `log`."""
    _write_output_to(log)
    os.environ.update(environment)
    torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    sys.argv = [module, argument]
    sys.exit(importlib.import_module(module).main())


def _write_output_to(path):
    with Path(path).open("ab") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)


class ForkedWorker:
    """What `run_workers` needs of `subprocess.Popen`."""

    def __init__(self, command, *, stdout, env, **_):
        *_, module, argument = command
        self._process = fork(run_worker, module, argument, stdout.name, env)
        self.terminate = self._process.terminate
        self.wait = self._process.join

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self.returncode


@contextmanager
def forked_workers():
    """`run_workers` starts its workers as forks."""
    stand_in = SimpleNamespace(Popen=ForkedWorker, DEVNULL=subprocess.DEVNULL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("litebert.commands.worker_processes.subprocess", stand_in)
        yield
