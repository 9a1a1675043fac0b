"""Words of the command line as numbers and paths: how tyro parses them, and what it says where they are none."""

import math
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

REGISTRY = ConstructorRegistry()
"""For `tyro.cli`: integers, finite numbers and paths, each also with the default None."""
_EXPECTED: Final = {int: ("INT", "an integer"), float: ("NUMBER", "a number"), Path: ("PATH", "a path")}


@REGISTRY.primitive_rule
def _rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    several = get_args(info.type) if get_origin(info.type) in (Union, UnionType) else (info.type,)
    types: list[Any] = [each for each in several if each is not NoneType]
    if len(types) != 1 or types[0] not in _EXPECTED:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=_EXPECTED[types[0]][0],
        instance_from_str=lambda words: _parse(types[0], words[0]),
        is_instance=lambda value: value is None or isinstance(value, types[0]),
        str_from_instance=lambda value: [str(value)],
    )


def _parse(kind: Any, word: str) -> Any:
    try:
        value = kind(word) if word else math.nan
    except ValueError:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected {_EXPECTED[kind][1]}, found {word[:40]!r}")
    return value
