"""Words of the command line as numbers and paths: how tyro parses them, and what it says where they are none."""

import math
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

REGISTRY = ConstructorRegistry()
"""For `tyro.cli`: integers, finite numbers and paths, each also with the default None."""


@REGISTRY.primitive_rule
def _rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    several = get_args(info.type) if get_origin(info.type) in (Union, UnionType) else (info.type,)
    types = [each for each in several if each is not NoneType]
    if len(types) != 1 or types[0] not in _PARSERS:
        return None
    metavar, parse = _PARSERS[types[0]]
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: parse(words[0]),
        is_instance=lambda value: value is None or isinstance(value, types[0]),
        str_from_instance=lambda value: [str(value)],
    )


def _integer(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"expected an integer, found {word[:40]!r}") from None


def _number(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"expected a number, found {word[:40]!r}")
    return number


def _path(word: str) -> Path:
    if not word:
        raise ValueError("expected a path, found ''")
    return Path(word)


_PARSERS: Final[dict[Any, tuple[str, Callable[[str], Any]]]] = {
    int: ("INT", _integer),
    float: ("NUMBER", _number),
    Path: ("PATH", _path),
}
