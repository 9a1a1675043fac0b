"""Labelled tables of the Hugging Face hub, through `datasets`.

A name is `hf:OWNER/NAME[/CONFIG][:SPLIT]` or `hf:DIRECTORY[:SPLIT]`, such as `hf:nyu-mll/glue/mrpc:train`; without a
split it is `train`.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from litebert.errors import DataError, MissingExtraError
from litebert.tasks.readers.tables import Row, Table

PREFIX: Final = "hf:"
DEFAULT_SPLIT: Final = "train"


def is_hub(path: Path) -> bool:
    """Whether a path is a name on the hub."""
    return str(path).startswith(PREFIX)


def hub_table(path: Path) -> Table:
    """Every row of a split, counted from 1; labels by their names, where the data set has names."""
    try:
        datasets = import_module("datasets")
    except ImportError:
        raise MissingExtraError("datasets", extra="datasets", needed_for=f"{path}") from None
    place, config, split = parts_of(path)
    try:
        loaded = datasets.load_dataset(place, config, split=split)
    except (ValueError, OSError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: cannot be loaded ({reason}); check name, config, split and network") from None
    rows = tuple(Row(number, _values(record, loaded.features)) for number, record in enumerate(loaded, start=1))
    if not rows:
        raise DataError(f"{path}: no rows; give a split with at least one")
    return Table(path, tuple(loaded.column_names), rows)


def parts_of(path: Path) -> tuple[str, str | None, str]:
    """Data set, configuration and split of a name."""
    place, _, split = str(path).removeprefix(PREFIX).partition(":")
    if place and Path(place).exists():
        return place, None, split or DEFAULT_SPLIT
    names = place.split("/")
    if not all(names):
        raise DataError(f"{path}: expected hf:OWNER/NAME, perhaps with /CONFIG and :SPLIT behind it")
    return "/".join(names[:2]), "/".join(names[2:]) or None, split or DEFAULT_SPLIT


def _values(record: dict[str, Any], features: Any) -> dict[str, Any]:
    return {name: _named(value, features[name]) for name, value in record.items()}


def _named(value: Any, feature: Any) -> Any:
    """A label, or a list of them, by name; -1 is how data sets say that there is none."""
    inner = getattr(feature, "feature", None)
    if isinstance(value, list) and inner is not None:
        return [_named(each, inner) for each in value]
    if hasattr(feature, "int2str") and isinstance(value, int):
        return None if value < 0 else feature.int2str(value)
    return value
