"""Settings as keyword arguments: each is placed where its settings class has it."""

from collections.abc import Mapping
from typing import Any

from litebert.errors import ConfigError, suggestion
from litebert.settings import Settings


def placed(settings: Mapping[str, Any], owner: type[Settings], groups: Mapping[str, type[Settings]]) -> dict[str, Any]:
    """Nested values of `owner` from flat ones: `learning_rate` becomes `{"train": {"learning_rate": …}}`.

    A name is that of a field of `owner`, or else of the first of its `groups` that has it. A mapping for a whole group,
    such as `train={…}`, is kept. ConfigError for an unknown name.
    """
    result: dict[str, Any] = {}
    for name, value in settings.items():
        if name in owner.model_fields:
            result[name] = {**result.get(name, {}), **value} if isinstance(value, Mapping) else value
            continue
        group = next((group for group, fields in groups.items() if name in fields.model_fields), None)
        if group is None:
            known = [*owner.model_fields, *(field for fields in groups.values() for field in fields.model_fields)]
            raise ConfigError(f"{name}: no such setting; {suggestion(name, known)}")
        result[group] = {**result.get(group, {}), name: value}
    return result


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes`, mapping by mapping."""
    result = dict(base)
    for name, value in changes.items():
        inner = result.get(name)
        result[name] = merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return result
