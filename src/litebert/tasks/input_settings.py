"""How examples become sequences, and predictions results."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from pydantic import Field

from litebert.files import read_json_object
from litebert.settings import Settings

INPUT_SETTINGS: Final = "input_settings.json"
"""The file of the settings in a model directory, except for question answering."""


class InputSettings(Settings):
    """The settings of a task type, which a model directory remembers."""

    max_length: int = Field(default=512, ge=3)
    """Longest sequence in tokens."""

    @classmethod
    def stored(cls, directory: Path, *, max_length: int) -> Self:
        """The settings in a model directory; without any, the longest sequence the model reads (`max_length`)."""
        path = directory / INPUT_SETTINGS
        if not path.exists():
            return cls(max_length=max_length)
        return cls.parse(read_json_object(path, if_missing="download the model directory again"), where=str(path))

    @classmethod
    def of_ensemble(cls, members: Sequence[Self]) -> Self:
        """The settings of an ensemble."""
        return members[0]

    def with_metrics(self, metrics: Mapping[str, float]) -> Self:
        """The settings with what an evaluation has chosen."""
        return self

    def model_files(self) -> dict[str, bytes]:
        """Files of the model directory from which `stored` reads the settings."""
        return {INPUT_SETTINGS: self.to_bytes()}

    def to_bytes(self) -> bytes:
        """The settings as a JSON file."""
        return (json.dumps(self.to_dict(), indent=2) + "\n").encode()
