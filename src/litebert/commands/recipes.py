"""Recipes: settings files with command, cost and expected figure. Before: package data, the user's file. After: runs.

A recipe of the package is named without its folder and ending (`tiny`); anything that ends in .yaml is a user's file.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from litebert.errors import ConfigError
from litebert.model.presets import preset
from litebert.settings import read_yaml, with_overrides

ABOUT = ("about", "command", "cost", "expected")


@dataclass(frozen=True)
class Recipe:
    """One settings file: what it says of itself, and the settings."""

    name: str
    about: dict[str, str]
    settings: dict[str, Any]

    def with_overrides(self, overrides: Iterable[str]) -> dict[str, Any]:
        """The settings with `key.path=value` overrides."""
        return with_overrides(self.settings, overrides)

    def to_text(self) -> str:
        """Name, purpose, command, cost and expected figure, for a person."""
        return "\n".join([self.name, *(f"  {key.ljust(8)}  {self.about[key]}" for key in ABOUT if key in self.about)])


def recipe_names(kind: str) -> list[str]:
    """Names of the recipes that come with the package for a verb."""
    return sorted(Path(str(entry)).stem for entry in _folder(kind).iterdir() if str(entry).endswith(".yaml"))


def load_recipe(name: str, *, kind: str) -> Recipe:
    """A recipe of the package, or the user's own file."""
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
    elif name in recipe_names(kind):
        path = Path(str(_folder(kind) / f"{name}.yaml"))
    else:
        raise ConfigError(
            f"{name!r}: no such recipe; expected {', '.join(recipe_names(kind))} or a path of a .yaml file"
        )
    values = read_yaml(path)
    about = {key: " ".join(str(values.pop(key)).split()) for key in ABOUT if key in values}
    return Recipe(path.stem, about, values)


def resolved_model(values: dict[str, Any], *, vocab_size: int) -> dict[str, Any]:
    """The fields of a model whose settings may name a `preset` to start from; the vocabulary is the corpus's."""
    rest = dict(values)
    named = rest.pop("preset", None)
    base = preset(str(named)).to_dict() if named is not None else {}
    return {**base, "vocab_size": vocab_size, **rest}


def _folder(kind: str) -> Any:
    return files("litebert") / "recipes" / kind
