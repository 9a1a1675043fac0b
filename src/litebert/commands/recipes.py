"""Recipes: YAML files of settings with a command, its cost and its expected result.

A recipe of the package is named without folder and suffix (`tiny`); a name that ends in .yaml is a file of the user.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from litebert.errors import ConfigError, suggestion
from litebert.files import path_of
from litebert.model.presets import preset
from litebert.settings import read_yaml

ABOUT = ("about", "command", "cost", "expected")
RECOMMENDED: Final = {
    "pretrain": ("night", "tiny", "night-balanced", "gpu-minutes"),
    "adapt": ("default",),
    "finetune": ("default",),
}
"""The recipes to begin with, by command; docs/guides/choosing.md has the reasons."""


@dataclass(frozen=True)
class Recipe:
    """One recipe: its description and its settings."""

    name: str
    about: dict[str, str]
    settings: dict[str, Any]

    def to_text(self) -> str:
        """Name, purpose, command, cost and expected result, for a person."""
        return "\n".join([self.name, *(f"  {key.ljust(8)}  {self.about[key]}" for key in ABOUT if key in self.about)])


def recipe_names(command: str) -> list[str]:
    """Names of the package's recipes for `command`, "pretrain" or "finetune": the recommended ones first."""
    names = [Path(str(entry)).stem for entry in _folder(command).iterdir() if str(entry).endswith(".yaml")]
    first = RECOMMENDED[command]
    return [*first, *sorted(name for name in names if name not in first)]


def load_recipe(name: str, *, command: str) -> Recipe:
    """A recipe of the package by its name, or a file of the user by its path."""
    if name.endswith((".yaml", ".yml")):
        path = path_of(name)
    elif name in recipe_names(command):
        path = Path(str(_folder(command) / f"{name}.yaml"))
    elif "=" in name:
        raise ConfigError(f"{name!r}: a setting, expected a recipe first; write RECIPE {name}")
    else:
        raise ConfigError(
            f"{name!r}: no such recipe; {suggestion(name, recipe_names(command))} (or give the path of a .yaml file)"
        )
    values = read_yaml(path)
    about = {key: " ".join(str(values.pop(key)).split()) for key in ABOUT if key in values}
    return Recipe(path.stem, about, values)


def resolved_model(values: dict[str, Any], *, vocab_size: int) -> dict[str, Any]:
    """Settings of a model with its `preset`, if any, filled in; `vocab_size` is the corpus's unless given."""
    rest = dict(values)
    name = rest.pop("preset", None)
    base = preset(str(name)).to_dict() if name is not None else {}
    return {**base, "vocab_size": vocab_size, **rest}


def _folder(command: str) -> Any:
    return files("litebert") / "recipes" / command
