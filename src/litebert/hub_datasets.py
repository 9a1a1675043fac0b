"""Data sets of the Hugging Face hub and local data sets, through the library `datasets`.

A name is `hf:OWNER/NAME[/CONFIG][:SPLIT]` or `hf:DIRECTORY[:SPLIT]`; the default split is `train`.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, Self

from litebert.errors import DataError, import_extra

PREFIX: Final = "hf:"
DEFAULT_SPLIT: Final = "train"


class DatasetName(NamedTuple):
    """Name on the hub or a local directory, config, and split."""

    path: str
    config: str | None
    split: str | None
    """None if it is not named."""

    @classmethod
    def parse(cls, name: str | Path) -> Self:
        """The parts of a name; a directory that exists has no config."""
        path, _, split = str(name).removeprefix(PREFIX).partition(":")
        if path and Path(path).exists():
            return cls(path, None, split or None)
        parts = path.split("/")
        if not all(parts):
            raise DataError(f"{name}: expected hf:OWNER/NAME, optionally followed by /CONFIG and :SPLIT")
        return cls("/".join(parts[:2]), "/".join(parts[2:]) or None, split or None)


def is_dataset_name(path: str | Path) -> bool:
    """Whether it is the name of a data set instead of a file."""
    return str(path).startswith(PREFIX)


def load_split(name: str | Path) -> Any:
    """One split as a `datasets.Dataset`, with the names of columns and labels; DataError if it cannot be loaded."""
    with _library(name) as datasets:
        return _load(datasets, DatasetName.parse(name))


def stream_rows(name: str | Path) -> Iterator[Mapping[str, Any]]:
    """The rows of one split in order, without loading all of them; raises what `load_split` raises."""
    with _library(name) as datasets:
        yield from _load(datasets, DatasetName.parse(name), streaming=True)


@contextlib.contextmanager
def _library(name: str | Path) -> Iterator[ModuleType]:
    """The module `datasets`; its errors become a DataError that begins with `name`."""
    datasets = import_extra("datasets", extra="datasets", needed_for=str(name))
    try:
        yield datasets
    except DataError:
        raise
    except (OSError, ValueError, KeyError, datasets.exceptions.DatasetsError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{name}: cannot be loaded ({reason}); check name, config, split and network, or download it and give "
            f"{PREFIX}DIRECTORY"
        ) from error


def _load(datasets: Any, name: DatasetName, **options: Any) -> Any:
    """One split of a directory that `save_to_disk` wrote, or of anything that `load_dataset` accepts."""
    split = name.split or DEFAULT_SPLIT
    if (Path(name.path) / "dataset_dict.json").is_file():
        return datasets.load_from_disk(name.path)[split]
    if (Path(name.path) / "state.json").is_file():
        return _without_other_splits(datasets.load_from_disk(name.path), name)
    return datasets.load_dataset(name.path, name.config, split=split, **options)


def _without_other_splits(dataset: Any, name: DatasetName) -> Any:
    """The data set of a directory without splits; DataError if the name asks for a split that it is not."""
    if name.split not in (None, str(dataset.split)):
        found = "a data set without splits" if dataset.split is None else f"only the split {dataset.split}"
        raise DataError(
            f"{PREFIX}{name.path}:{name.split}: the directory has {found}; give {PREFIX}{name.path}, or save a "
            f"DatasetDict that has the split {name.split}"
        )
    return dataset
