"""What every verb reports. Before: a finished verb. After: `result.json`, `--json` and a person who reads text."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from litebert.errors import CheckpointError
from litebert.files import write_json


class Result(ABC):
    """Base of results, which are frozen dataclasses: as plain values, back from them, and as text."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return TypeAdapter(type(self)).dump_python(self, mode="json")

    def write(self, path: Path) -> None:
        """Write `to_dict` as a JSON file."""
        write_json(path, self.to_dict())

    @classmethod
    def read(cls, path: Path) -> Self:
        """The inverse of `write`; a file that holds something else is a CheckpointError."""
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes())
        except ValidationError:
            raise CheckpointError(f"{path}: damaged: not a {cls.__name__}; remove it to make it anew") from None

    @abstractmethod
    def to_text(self) -> str:
        """The result for a person."""
