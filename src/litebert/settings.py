"""Strict settings. Floor 0: rooms subclass `Settings`; `cli` and `runs` read recipe files and overrides through here.

Unknown keys, wrong types and values out of range are refused with the key, the value found and what was expected.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from litebert.errors import ConfigError

Leaf = str | int | float | bool | None
"""A value that is no group of values."""
Precision = Literal["fp32", "bf16", "fp16"]
"""Arithmetic of matrix products; `bf16` and `fp16` are mixed precision with weights in fp32."""


class Settings(BaseModel):
    """Base of every settings class: frozen, no unknown keys, each field documented by the string below it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )

    @classmethod
    def parse(cls, values: Mapping[str, Any], *, where: str) -> Self:
        """Checked settings from plain values; a problem is a ConfigError that begins with `where`."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise ConfigError(f"{where}: " + "; ".join(_explain(cls, problem) for problem in error.errors())) from None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON or YAML; `parse` gives the same settings back."""
        return self.model_dump(mode="json")

    def replace(self, **changes: Any) -> Self:
        """These settings with some fields changed, checked again."""
        return type(self).parse({**self.to_dict(), **changes}, where=type(self).__name__)

    def completed(self, older: Mapping[str, Leaf], *, below: str = "") -> dict[str, Leaf]:
        """`older`, flat values of such settings under names that begin with `below`, as they would be kept today.

        A setting that did not exist yet when they were kept is added at its default.
        """
        result = dict(older)
        for name, field in type(self).model_fields.items():
            path, value = f"{below}{name}", getattr(self, name)
            inside = any(key.startswith(f"{path}.") for key in older)
            if inside and isinstance(value, Settings):
                result = value.completed(result, below=f"{path}.")
            elif not inside and path not in older and not field.is_required():
                result |= flatten({path: self._default(name)})
        return result

    def _default(self, name: str) -> Any:
        """The plain value of a setting that is left out."""
        default = type(self).model_fields[name].get_default(call_default_factory=True)
        return type(self).model_construct(**{name: default}).model_dump(mode="json", include={name})[name]


def flatten(values: Mapping[str, Any]) -> dict[str, Leaf]:
    """Nested values under dotted names, each as JSON gives it back."""
    result: dict[str, Leaf] = {}
    for name, value in values.items():
        if isinstance(value, Mapping | Settings):
            nested = value.to_dict() if isinstance(value, Settings) else value
            result |= {f"{name}.{inner}": leaf for inner, leaf in flatten(nested).items()}
        elif isinstance(value, Leaf):
            result[name] = value
        else:
            result[name] = json.dumps(value, sort_keys=True, default=str)
    return result


def changed_names(before: Mapping[str, Leaf], now: Mapping[str, Leaf]) -> list[str]:
    """Names whose flat values differ; one that is missing is as none."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def validate_not_given(given: Mapping[str, Any], why: str) -> None:
    """A ConfigError that begins with the names of those that hold something, which would have no effect."""
    named = [name for name, value in given.items() if value not in (None, ())]
    if named:
        raise ConfigError(f"{', '.join(named)}: {why}")


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; executes nothing."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; give the path of an existing settings file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of settings, found {type(content).__name__}")
    return content


def write_yaml(values: Mapping[str, Any]) -> str:
    """YAML text with the keys in their given order."""
    return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)


def with_overrides(values: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """`values` with `key.path=value` overrides applied; the values are read as YAML scalars or lists."""
    result = dict(values)
    for override in overrides:
        path, equals, text = override.partition("=")
        if not equals or not path:
            raise ConfigError(f"{override!r}: expected setting=value, such as train.learning_rate=0.001")
        _set(result, path.split("."), _scalar(text, where=override))
    return result


def _scalar(text: str, *, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"{where!r}: the value is not valid YAML; quote it") from None


def _set(values: dict[str, Any], path: list[str], value: Any) -> None:
    key, rest = path[0], path[1:]
    if not rest:
        values[key] = value
        return
    inner = values.get(key)
    inner = {} if inner is None else inner
    if not isinstance(inner, Mapping):
        raise ConfigError(f"{'.'.join(path)}: {key} is a single value, it has no setting {rest[0]!r}")
    values[key] = dict(inner)
    _set(values[key], rest, value)


def _explain(cls: type[BaseModel], problem: Any) -> str:
    """One sentence for one pydantic problem."""
    # In brackets: which member of a union was tried, which is no setting.
    path = ".".join(str(part) for part in problem["loc"] if not str(part).startswith("("))
    if problem["type"] == "extra_forbidden":
        known = _fields_at(cls, problem["loc"][:-1])
        close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known settings: {', '.join(known)}"
        return f"unknown setting {path!r}; {hint}"
    if problem["type"] == "union_tag_not_found":
        decides = problem["ctx"]["discriminator"]
        return f"{path}: give {decides} too, which decides what else there is (found {problem['input']!r})"
    if problem["type"] == "missing":
        return f"setting {path!r} is missing"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{path}: {message} (found {problem['input']!r})" if path else message


def _fields_at(cls: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    """Names of the settings that exist at a path inside `cls`."""
    for part in loc:
        field = cls.model_fields.get(str(part))
        inner = field.annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        cls = inner
    return list(cls.model_fields)
