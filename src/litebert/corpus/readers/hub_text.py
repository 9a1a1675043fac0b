"""Rows of a data set by its name on the Hugging Face hub, or in a local directory. After: reading.

This is the only file that knows the library `datasets`. A name is `hf:OWNER/NAME[/CONFIG][:SPLIT]` or
`hf:DIRECTORY[:SPLIT]`; without a split it is `train`. Rows are streamed, never held all at once.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from litebert.errors import DataError, MissingExtraError

PREFIX = "hf:"
DEFAULT_SPLIT = "train"


def rows_of(name: str) -> Iterator[Mapping[str, Any]]:
    """The rows of one split, in their order.

    Raises:
        MissingExtraError: `datasets` is not installed.
        DataError: No such data set, config or split, or the hub cannot be reached.
    """
    try:
        import datasets  # pyrefly: ignore[missing-import]
    except ImportError:
        raise MissingExtraError("datasets", extra="datasets", needed_for=name) from None
    place, config, split = parts_of(name)
    try:
        yield from _opened(datasets, place, config, split)
    except (OSError, ValueError, KeyError, datasets.exceptions.DatasetsError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{name}: could not be loaded ({reason}); check name, config, split and network, or download it and give "
            f"{PREFIX}DIRECTORY"
        ) from error


def parts_of(name: str) -> tuple[str, str | None, str]:
    """Place, config and split of a name; a directory that exists has no config."""
    place, _, split = name.removeprefix(PREFIX).partition(":")
    if Path(place).exists():
        return place, None, split or DEFAULT_SPLIT
    owner, *rest = place.split("/")
    return "/".join([owner, *rest[:1]]), "/".join(rest[1:]) or None, split or DEFAULT_SPLIT


def _opened(datasets: Any, place: str, config: str | None, split: str) -> Any:
    """One split of what `save_to_disk` wrote, or of anything that `load_dataset` takes."""
    if (Path(place) / "dataset_dict.json").is_file():
        return datasets.load_from_disk(place)[split]
    if (Path(place) / "state.json").is_file():
        return datasets.load_from_disk(place)
    return datasets.load_dataset(place, config, split=split, streaming=True)
