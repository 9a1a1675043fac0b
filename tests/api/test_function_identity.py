"""What a function computes with: equal for equal functions, another for other values."""

import functools
import json
import os
import re
import subprocess
import sys
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from litebert.api.function_identity import function_identity
from litebert.errors import ConfigError


def closure(value):
    def metric(predictions, labels):
        return value

    return metric


def default(value):
    def metric(predictions, labels, value=value):
        return value

    return metric


def keyword_default(value):
    def metric(predictions, labels, *, value=value):
        return value

    return metric


def function_attribute(value):
    def metric(predictions, labels):
        return metric.value

    metric.value = value
    return metric


class Metric:
    """A callable class."""

    def __init__(self, value):
        self.value = value

    def __call__(self, predictions, labels):
        return self.value

    def measure(self, predictions, labels):
        return self.value


def class_in_a_function(value):
    class Made:
        def __call__(self, predictions, labels):
            return value

    return Made()


def decorated(value):
    def decorate(function):
        @functools.wraps(function)
        def metric(predictions, labels):
            return value * function(predictions, labels)

        return metric

    return decorate(np.mean)


def executed(value):
    namespace = {}
    exec(f"def metric(predictions, labels): return {value!r}", namespace)
    return namespace["metric"]


def partial(value):
    return functools.partial(closure(1), value=value)


def bound_method(value):
    return Metric(value).measure


MAKERS = [
    *(closure, default, keyword_default, function_attribute, Metric, class_in_a_function, decorated, executed),
    *(partial, bound_method),
]


@pytest.mark.parametrize("make", MAKERS)
def test_identity_differs_if_and_only_if_a_value_differs(make):
    one, again, other = (json.dumps(function_identity(make(value))) for value in (1, 1, 2))
    assert one == again != other


class Color(Enum):
    """A choice."""

    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (1, True),
        (1, 1.0),
        (1, "1"),
        ([1, 2], (1, 2)),
        ({1, 2}, {1, 3}),
        ({"a": 1}, {"a": 2}),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.zeros(2), np.zeros((1, 2))),
        (np.array(["a", None]), np.array(["b", None])),
        (np.float32(1), np.float64(1)),
        (b"a", b"b"),
        (Path("a"), Path("b")),
        (re.compile("a"), re.compile("a", re.IGNORECASE)),
        (Color.RED, Color.BLUE),
        (closure(1), closure(2)),
        (Metric([1]), Metric([2])),
        (np.maximum, np.minimum),
        (max, min),
        (int, float),
        (json, re),
    ],
)
def test_values_of_a_closure_are_told_apart(value, other):
    one, another = (json.dumps(function_identity(closure(each))) for each in (value, other))
    assert one != another


def test_function_that_calls_itself_has_an_identity():
    def metric(predictions, labels):
        return metric(predictions, labels)

    assert "itself" in json.dumps(function_identity(metric))


class WithSlots:
    """An object that `vars` says nothing of."""

    __slots__ = ("value",)


class OwnList(list):
    """An object with values besides its `vars`."""


@pytest.mark.parametrize("value", [object(), np.random.default_rng(0), WithSlots(), OwnList([1])])
@pytest.mark.parametrize("make", [closure, Metric])
def test_value_that_cannot_be_compared_asks_for_the_directory(make, value):
    with pytest.raises(ConfigError, match=r"^metrics: [mM]etric has the value .*; give the directory \(out=…\)$"):
        function_identity(make(value))


PRINTED = """
from litebert.api.function_identity import function_identity
def make(value): return lambda predictions, labels: value in {"a", "b", "c"}
print(function_identity(make({"a", "b", "c", "d"})))
"""


def test_identity_is_the_same_in_another_process():
    printed = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PRINTED]
        printed.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(printed) == 1
    assert "frozenset" in printed.pop()
