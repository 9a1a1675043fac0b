"""Numbers on the command line: how tyro parses them, and what it says where a word is none."""

import math
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

NUMBERS = ConstructorRegistry()
"""For `tyro.cli`: integers and finite numbers, each also with the default None."""


@NUMBERS.primitive_rule
def _number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    several = get_args(info.type) if get_origin(info.type) in (Union, UnionType) else (info.type,)
    types = [each for each in several if each is not NoneType]
    if types not in ([int], [float]):
        return None
    kind = types[0]
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT" if kind is int else "NUMBER",
        instance_from_str=lambda words: _parse(kind, words[0]),
        is_instance=lambda value: value is None or isinstance(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


def _parse(kind: type[int] | type[float], word: str) -> int | float:
    try:
        number = kind(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"expected {'an integer' if kind is int else 'a number'}, found {word[:40]!r}")
    return number
