"""A parallel map over processes with results in order."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from litebert.errors import LitebertError

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_in_order(function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int) -> Iterator[Result]:
    """Yield `function` of each task, in the order of the tasks; at most `workers` + 1 tasks are in memory.

    With one worker everything runs in this process. More workers are spawned, so a script must call this below
    `if __name__ == "__main__":`.
    """
    if workers == 1:
        yield from map(function, tasks)
        return
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    window: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            window.append(pool.submit(function, task))
            if len(window) > workers:
                yield window.popleft().result()
        while window:
            yield window.popleft().result()
    except BrokenProcessPool as error:
        raise LitebertError(
            "a worker process died (out of memory, or a script without `if __name__ == '__main__':`); "
            "run the same command again, with fewer workers if memory was short: finished parts are reused"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
