"""A command's settings class as its command line arguments, and words of the command line as numbers and paths."""

import math
import re
from collections.abc import Collection
from copy import copy
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin

from pydantic import create_model
from pydantic.fields import FieldInfo
from tyro.conf import FlagCreatePairsOff, Positional, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from litebert.errors import ConfigError, LitebertError
from litebert.settings import Settings

METAVARS = {Path: "PATH", str: "NAME", int: "INT", float: "NUMBER"}

REGISTRY = ConstructorRegistry()
"""For `tyro.cli`: integers, finite numbers and paths, each also with the default None."""
_EXPECTED: Final = {int: ("INT", "an integer"), float: ("NUMBER", "a number"), Path: ("PATH", "a path")}


def arguments_of(
    settings: type[Settings], *, positional: Collection[str] = (), defaults: Settings | None = None
) -> Any:
    """A marker for `Annotated[settings, …]`: parse its fields as arguments, those in `positional` without a flag.

    Optional arguments are shown without `None` and without an empty default. `defaults` replaces those of the class.
    """
    return arg(constructor=_with_hints(settings, positional, defaults), name="")


def _with_hints(settings: type[Settings], positional: Collection[str], defaults: Settings | None) -> type[Settings]:
    fields: dict[str, Any] = {}
    for name, given in settings.model_fields.items():
        info, annotation = copy(given), cast("Any", given.annotation)
        info.description = " ".join((given.description or "").split())
        if defaults is not None:
            info.default = getattr(defaults, name)
        if isinstance(annotation, type) and issubclass(annotation, Settings):
            nested = _with_hints(annotation, (), info.default)
            fields[name] = (Annotated[nested, arg(name="")], FieldInfo(default=nested(), description=info.description))
        else:
            hints = _positional(name, info) if name in positional else _optional(info)
            fields[name] = (Annotated[(annotation, *hints)] if hints else annotation, info)
    # The name of the class begins the message about a wrong value.
    words = re.findall("[A-Z][a-z]+", settings.__name__.removesuffix("Run").removesuffix("Settings"))
    name = "-".join(words).lower()
    created = create_model(name, __base__=(_Arguments, settings), __doc__=settings.__doc__, **fields)
    # In the help, what a base class shares with other commands comes after the command's own arguments.
    inherited = {name for base in settings.__mro__[1:] for name in getattr(base, "model_fields", ())}
    known = created.__pydantic_fields__
    created.__pydantic_fields__ = {each: known[each] for each in sorted(known, key=inherited.__contains__)}
    return created


class _WrongArgumentError(LitebertError):
    """A ConfigError that is no ValueError: tyro would frame it and leave out what follows a line break."""

    exit_code = ConfigError.exit_code


class _Arguments(Settings):
    """Settings from the command line."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ConfigError as error:
            raise _WrongArgumentError(str(error)) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """As an object of the settings class itself, which the tasks of an executor can import."""
        settings = next(each for each in type(self).__mro__[1:] if each is not _Arguments)
        return partial(settings, **dict(self)), ()

    __init__.__pydantic_base_init__ = True  # pyrefly: ignore[missing-attribute]


def _positional(name: str, info: FieldInfo) -> list[Any]:
    several = " …" if get_origin(info.annotation) is tuple else ""
    hint = "(required)" if info.is_required() else ""
    return [Positional, arg(metavar=f"{name.upper()}{several}", help_behavior_hint=hint)]


def _optional(info: FieldInfo) -> list[Any]:
    if info.default is False:
        return [FlagCreatePairsOff, arg(help_behavior_hint="")]
    if info.is_required() and get_origin(info.annotation) is tuple:
        return [arg(metavar=_metavar(info.annotation), help_behavior_hint="(required)")]
    if info.default not in (None, ()):
        return []
    value_type: Any = info.annotation
    if info.default is None:
        (value_type,) = (each for each in get_args(value_type) if each is not type(None))
    return [arg(metavar=_metavar(value_type), help_behavior_hint="")]


def _metavar(value_type: Any) -> str:
    if get_origin(value_type) is Literal:
        return f"{{{','.join(get_args(value_type))}}}"
    return f"[{_metavar(get_args(value_type)[0])} …]" if get_origin(value_type) is tuple else METAVARS[value_type]


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
