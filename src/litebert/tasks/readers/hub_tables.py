"""Data sets of the hub as tables, beside tables in files."""

from pathlib import Path
from typing import Any

from litebert.errors import DataError
from litebert.hub_datasets import is_dataset_name, load_split
from litebert.tasks.readers.tables import Row, Table, read_table


def read_any_table(path: Path) -> Table:
    """All rows of a CSV, TSV, JSON lines or Parquet file, or of a data set of the hub."""
    return hub_table(path) if is_dataset_name(path) else read_table(path)


def hub_table(path: Path) -> Table:
    """Every row of a split, counted from 1; labels by their names, where the data set has names."""
    loaded = load_split(path)
    rows = tuple(
        Row(number, with_label_names(record, loaded.features)) for number, record in enumerate(loaded, start=1)
    )
    if not rows:
        raise DataError(f"{path}: no rows; give a split with at least one")
    return Table(path, tuple(loaded.column_names), rows)


def with_label_names(record: dict[str, Any], features: Any) -> dict[str, Any]:
    """A row with the names of its labels, where `features` of the data set has them."""
    return {name: _label_name(value, features[name]) for name, value in record.items()}


def _label_name(value: Any, feature: Any) -> Any:
    """A label, or a list of labels, by name; data sets use -1 for a missing label."""
    inner = getattr(feature, "feature", None)
    if isinstance(value, list) and inner is not None:
        return [_label_name(each, inner) for each in value]
    if hasattr(feature, "int2str") and isinstance(value, int):
        return None if value < 0 else feature.int2str(value)
    return value
