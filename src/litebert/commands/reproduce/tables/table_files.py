"""The .yaml files of tables and scales: those of the package have names, those of the user have paths."""

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from litebert.errors import ConfigError, suggestion

Folder = Literal["tables", "scales"]


def named_file(folder: Folder, name: str) -> Path:
    """A file of the package by its name, or a .yaml file of the user by its path; ConfigError for another name."""
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    names = file_names(folder)
    if name not in names:
        raise ConfigError(f"{name!r}: not one of the {folder}; {suggestion(name, names)}")
    return Path(str(_folder(folder) / f"{name}.yaml"))


def file_names(folder: Folder) -> list[str]:
    """The names in a folder of the package: `table-1` to `table-14`, `figure-1`, `figure-2`; or those of the scales."""
    stems = [Path(str(entry)).stem for entry in _folder(folder).iterdir() if str(entry).endswith(".yaml")]
    return sorted(stems, key=place_in_paper)


def place_in_paper(name: str) -> tuple[bool, int, str]:
    """By which names are sorted: tables before figures, by number."""
    kind, _, number = name.partition("-")
    return kind != "table", int(number) if number.isdigit() else 0, name


def _folder(folder: Folder) -> Any:
    return files("litebert") / "recipes" / "reproduce" / folder
