"""Which clock times a computation, and the times of contestants that take turns."""

import time
from collections.abc import Callable, Sequence

Clock = Callable[[], float]
Action = Callable[[], object]


def clock_for(threads: int) -> Clock:
    """For one thread the processor time of the process, which other processes hardly lengthen; else elapsed time."""
    return time.process_time if threads == 1 else time.perf_counter


def seconds_of(action: Action, clock: Clock = time.perf_counter) -> float:
    """Seconds of one call."""
    began = clock()
    action()
    return clock() - began


def fastest_in_turn(
    actions: Sequence[Action], *, turns: int, calls: int = 1, clock: Clock = time.perf_counter
) -> list[float]:
    """Seconds of the fastest call of each action, which take turns of `calls` calls; so other load slows all."""
    fastest = [float("inf")] * len(actions)
    for _ in range(turns):
        for number, action in enumerate(actions):
            fastest[number] = min(fastest[number], *(seconds_of(action, clock) for _ in range(calls)))
    return fastest
