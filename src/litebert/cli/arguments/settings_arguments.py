"""A command's settings class as its command line arguments."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import create_model
from pydantic.fields import FieldInfo
from tyro.conf import FlagCreatePairsOff, Positional, arg

from litebert.settings import Settings

METAVARS = {Path: "PATH", str: "NAME", int: "INT", float: "NUMBER"}


def arguments_of(settings: type[Settings], *, positional: Collection[str] = ()) -> Any:
    """A marker for `Annotated[settings, …]`: parse its fields as arguments, those in `positional` without a flag.

    Optional arguments are shown without `None` and without an empty default.
    """
    return arg(constructor=_with_hints(settings, positional))


def _with_hints(settings: type[Settings], positional: Collection[str]) -> type[Settings]:
    fields: dict[str, Any] = {}
    for name, info in settings.model_fields.items():
        annotation: Any = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, Settings):
            nested = _with_hints(annotation, ())
            default = nested.model_validate(info.default.to_dict())
            fields[name] = (nested, FieldInfo(default=default, description=info.description))
        else:
            hints = _positional(name, annotation) if name in positional else _optional(info)
            fields[name] = (Annotated[(annotation, *hints)] if hints else annotation, info)
    return create_model(settings.__name__, __base__=settings, __doc__=settings.__doc__, **fields)


def _positional(name: str, annotation: Any) -> list[Any]:
    several = " …" if get_origin(annotation) is tuple else ""
    return [Positional, arg(metavar=f"{name.upper()}{several}", help_behavior_hint="(required)")]


def _optional(info: FieldInfo) -> list[Any]:
    if info.default is False:
        return [FlagCreatePairsOff, arg(help_behavior_hint="")]
    if info.default == ():
        return [arg(help_behavior_hint="")]
    if info.default is not None:
        return []
    (value_type,) = (each for each in get_args(info.annotation) if each is not type(None))
    is_choice = get_origin(value_type) is Literal
    metavar = f"{{{','.join(get_args(value_type))}}}" if is_choice else METAVARS[value_type]
    return [arg(metavar=metavar, help_behavior_hint="")]
