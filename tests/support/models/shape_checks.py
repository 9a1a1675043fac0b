"""The type checker of jaxtyping: beartype for the first calls of each function in each test.

A training run calls the same functions thousands of times with the same shapes.
"""

from collections import Counter
from functools import cache, wraps

from beartype import beartype
from jaxtyping import config

from support.runs.full_mode import trials

CALLS = trials(10, 1000)
"""Checks of a function in a test; a call has one of its parameters and one of its result."""
ALL_CALLS = trials(2000, 1_000_000)
"""Calls of all functions in a test, after which nothing is checked in it."""
_calls = Counter()
_beartype = cache(beartype)
_is_disabled = config.jaxtyping_disable


def checked(function):
    """`function`, checked by beartype in its first calls; most functions that are imported are never called."""

    @wraps(function)
    def check_first_calls(*arguments, **named):
        _calls[function] += 1
        _calls[None] += 1
        if _calls[function] <= CALLS:
            _beartype(function)(*arguments, **named)
        if _calls[None] == ALL_CALLS:
            stop_checks()

    return check_first_calls


def start_test():
    """Check the first calls again."""
    _calls.clear()
    config.update("jaxtyping_disable", _is_disabled)


def stop_checks():
    """Check nothing in the rest of a test, such as one that passes a value which the annotations rule out."""
    config.update("jaxtyping_disable", True)
