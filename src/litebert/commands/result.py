"""The result of a command: as `result.json`, as `--json` output, and as text."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from litebert.errors import CheckpointError
from litebert.files import write_json


class Result(ABC):
    """Base of result classes, which are frozen dataclasses."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return TypeAdapter(type(self)).dump_python(self, mode="json")

    def write(self, path: Path) -> None:
        """Write `to_dict` as a JSON file."""
        write_json(path, self.to_dict())

    @classmethod
    def read(cls, path: Path) -> Self:
        """The result that `write` wrote; raises CheckpointError for any other content."""
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes())
        except ValidationError:
            raise CheckpointError(f"{path}: not a {cls.__name__}; remove the file and run the command again") from None

    @abstractmethod
    def to_text(self) -> str:
        """The result for a person."""
