"""Worker processes of this Python, several at once, each with its share of the threads and of the GPUs.

A worker that crashes does not stop the others.
"""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import torch

from litebert.errors import LitebertError, StoppedBySignalError
from litebert.training.loop.signals import StopSignals

logger = logging.getLogger(__name__)

Task = TypeVar("Task")
_POLL_SECONDS: Final = 0.2


@dataclass(frozen=True)
class Worker:
    """The process of a task."""

    name: str
    """The task, for log lines."""
    command: tuple[str, ...]
    """What follows `python`: `-m`, a module and its arguments, or a file and its arguments."""
    log: Path
    """What the process logs."""


def run_workers(
    tasks: Iterable[Task],
    worker: Callable[[Task], Worker],
    ended: Callable[[Task, int], bool],
    *,
    jobs: int,
    stopped: str,
    needs: Callable[[Task], Collection[Task]] = lambda task: (),
) -> list[Task]:
    """Run the worker of each task, `jobs` at once, and return the tasks that failed.

    An error of `worker` or `ended` is raised once every other worker has saved its state and ended.

    Args:
        tasks: in the order in which they start.
        worker: the process of a task, called when it starts.
        ended: (task, exit code) → whether the task succeeded.
        jobs: number of workers at the same time.
        stopped: message of the error after a signal.
        needs: tasks that must have succeeded before; where one failed, the task fails too.

    Raises:
        StoppedBySignalError: after a signal, once every worker has saved its state and ended.
    """
    waiting, failed = list(tasks), list[Task]()
    running: list[tuple[Task, subprocess.Popen[bytes], int]] = []
    jobs = max(1, min(jobs, len(waiting)))
    threads = max(1, torch.get_num_threads() // jobs)
    with StopSignals() as signals:
        try:
            while waiting or running:
                done = [each for each in running if each[1].poll() is not None]
                running = [each for each in running if each not in done]
                failed += _failed([(task, process.returncode) for task, process, _ in done], ended)
                if signals.number:
                    raise StoppedBySignalError(stopped, signal_number=signals.number)
                for task in list(waiting):
                    if any(each in failed for each in needs(task)):
                        waiting.remove(task)
                        failed.append(task)
                pending = [*waiting, *(task for task, _, _ in running)]
                ready = [task for task in waiting if not any(each in pending for each in needs(task))]
                free = set(range(jobs)) - {slot for _, _, slot in running}
                for task, slot in zip(ready, sorted(free), strict=False):
                    waiting.remove(task)
                    running.append((task, _start(worker(task), slot=slot, threads=threads), slot))
                time.sleep(_POLL_SECONDS)
        finally:
            _stop([process for _, process, _ in running])
    return failed


def _failed(done: Sequence[tuple[Task, int]], ended: Callable[[Task, int], bool]) -> list[Task]:
    """The tasks of `done` that failed; `ended` is called for all of them before its first error is raised."""
    failed, errors = list[Task](), list[LitebertError]()
    for task, code in done:
        try:
            if not ended(task, code):
                failed.append(task)
        except LitebertError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return failed


def _start(worker: Worker, *, slot: int, threads: int) -> "subprocess.Popen[bytes]":
    worker.log.parent.mkdir(parents=True, exist_ok=True)
    logger.info("%s: started, log in %s", worker.name, worker.log)
    with worker.log.open("a", encoding="utf-8") as stream:
        return subprocess.Popen(
            [sys.executable, *worker.command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **worker_env(slot, threads, os.environ, devices=torch.cuda.device_count())},
            # A signal of the terminal reaches only this process, which passes it on once.
            start_new_session=True,
        )


def worker_env(slot: int, threads: int, environment: Mapping[str, str], *, devices: int) -> dict[str, str]:
    """Environment variables of the worker in `slot`: its number of threads, and its GPU if there are any."""
    variables = {"OMP_NUM_THREADS": str(threads)}
    if devices:
        visible = environment.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(devices)))
        variables["CUDA_VISIBLE_DEVICES"] = visible.split(",")[slot % devices]
    return variables


def _stop(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Ask every worker to save its state and end, and wait for them."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        process.wait()
