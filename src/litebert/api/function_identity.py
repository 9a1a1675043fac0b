"""What a function computes with, as JSON values: its code, its defaults, and the values it has from where it was made.

The values are the same in another process: they have no addresses, and sets have no order.
"""

import functools
import hashlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable
from enum import Enum
from operator import attrgetter
from pathlib import PurePath
from types import CodeType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from litebert.errors import ConfigError

Parts = tuple[str, Iterable[Any]] | None
"""A text, and values that have an identity of their own; None if a value may have more."""


def function_identity(function: Callable[..., Any]) -> Any:
    """Differs if the code of a function or of a callable class, a default, a closure or an attribute differs.

    The globals that the code names are not looked at. ConfigError for a value that cannot be compared with another.
    """
    try:
        return _identity(function, ())
    except _UnknownValueError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise ConfigError(
            f"metrics: {name} has the value {error}, which cannot be compared with that of another run, so no run "
            "directory can be named after it; give the directory (out=…)"
        ) from None


class _UnknownValueError(Exception):
    pass


def _identity(value: Any, inside: tuple[Any, ...]) -> Any:
    """`inside` are the values that lead to this one; it may be one of them, as a function that calls itself."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if any(value is each for each in inside):
        return "itself"
    for kinds, parts_of in _PARTS:
        if isinstance(value, kinds) and (parts := parts_of(value)) is not None:
            name, values = parts
            inner = [_identity(each, (*inside, value)) for each in values]
            has_order = not isinstance(value, dict | set | frozenset)
            return [name, *(inner if has_order else sorted(inner, key=json.dumps))]
    raise _UnknownValueError(f"{repr(value)[:80]} ({type(value).__name__})")


def _of_function(function: FunctionType) -> Parts:
    # Names such as `__signature__` are read by help texts, and `__wrapped__` is in the closure too.
    attributes = {name: value for name, value in vars(function).items() if not name.startswith("__")}
    closure = inspect.getclosurevars(function).nonlocals
    return "function", (function.__code__, function.__defaults__, function.__kwdefaults__, closure, attributes)


def _of_code(code: CodeType) -> Parts:
    """The source, not that of the function which it wraps; without a source, as of `exec`, the instructions."""
    try:
        return inspect.getsource(code), ()
    except (OSError, TypeError):
        return f"instructions {code.co_code.hex()}", (code.co_names, code.co_consts)


def _of_class(kind: type) -> Parts:
    try:
        return inspect.getsource(kind), ()
    except (OSError, TypeError):
        return f"{kind.__module__}.{kind.__qualname__}", ()


def _of_array(array: np.ndarray | np.generic) -> Parts:
    if array.dtype.hasobject:
        return "array", (np.asarray(array).tolist(),)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}", ()


def _of_collection(values: Any) -> Parts:
    kind = type(values)
    if kind not in (dict, list, tuple, set, frozenset):
        return None  # a class of its own may have more than the values
    return kind.__name__, map(list, values.items()) if kind is dict else values


class _Plain:
    """A class whose instances have their `vars` and nothing else."""


def _of_instance(value: Any) -> Parts:
    kind = type(value)
    has_more = kind.__basicsize__ != _Plain.__basicsize__ or kind.__itemsize__  # slots, or a class written in C
    if has_more or not hasattr(value, "__dict__"):
        return None
    call = vars(kind).get("__call__")  # has a closure if the class was made by a function
    return "instance", (*kind.__mro__, call, vars(value))


def _of_named(value: Any) -> Parts:
    """Something that an imported module has under its own name, such as a function written in C."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
    try:
        is_found = module != "__main__" and attrgetter(str(name))(sys.modules.get(str(module))) is value
    except AttributeError:
        is_found = False
    return (f"{module}.{name}", ()) if is_found else None


_PARTS: Final[tuple[tuple[Any, Callable[[Any], Parts]], ...]] = (
    (FunctionType, _of_function),
    (CodeType, _of_code),
    (MethodType, lambda method: ("method", (method.__func__, method.__self__))),
    (functools.partial, lambda made: ("partial", (made.func, made.args, made.keywords))),
    (type, _of_class),
    (ModuleType, lambda module: (f"module {module.__name__}", ())),
    (Enum, lambda member: (f"member {member.name}", (type(member),))),
    (np.ndarray | np.generic, _of_array),
    (bytes | complex | EllipsisType, lambda constant: (repr(constant), ())),
    (PurePath, lambda path: (f"path {path}", ())),
    (re.Pattern, lambda pattern: ("pattern", (pattern.pattern, pattern.flags))),
    (dict | list | tuple | set | frozenset, _of_collection),
    (object, _of_instance),
    (object, _of_named),
)
"""The first that fits decides."""
