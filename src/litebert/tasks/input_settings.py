"""How examples become sequences, and predictions results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field

from litebert.files import INPUT_SETTINGS, json_bytes
from litebert.settings import Settings

LongTexts = Literal["truncate", "windows"]
"""What is read of a text that is longer than `max_length`: its first tokens, or all of it, in several windows."""


class InputSettings(Settings):
    """The settings of a task type, which a model directory remembers."""

    file: ClassVar[str] = INPUT_SETTINGS
    """Its name in a model directory."""
    max_length: int = Field(default=512, ge=3)
    """Longest sequence in tokens."""

    @property
    def reads_long_texts(self) -> bool:
        """Whether longer texts are read in windows that have one result together."""
        return False

    @classmethod
    def stored(cls, directory: Path, *, max_length: int) -> Self:
        """The settings in a model directory, or the default ones; no sequence is longer than the model reads.

        `max_length` is that of the model, whose positions may have been reduced since the settings were written.
        """
        found = cls.read_json(directory / cls.file) or cls.default(max_length)
        return found.replace(max_length=min(found.max_length, max_length))

    @classmethod
    def default(cls, max_length: int) -> Self:
        """The settings for a model that reads `max_length` tokens."""
        return cls(max_length=max_length)

    @classmethod
    def of_ensemble(cls, members: Sequence[Self]) -> Self:
        """The settings of an ensemble."""
        return members[0]

    def of_encoding(self) -> Self:
        """The settings without those that token sequences do not depend on; equal ones give equal sequences."""
        return self

    def with_metrics(self, metrics: Mapping[str, float]) -> Self:
        """The settings with what an evaluation has chosen."""
        return self

    def model_files(self) -> dict[str, bytes]:
        """Files of the model directory from which `stored` reads the settings."""
        return {self.file: json_bytes(self.to_dict())}


class TextInputSettings(InputSettings):
    """How texts and pairs of texts become sequences."""

    long_texts: LongTexts = "truncate"
    """`windows`: the outputs for a text are the mean of those for its windows."""

    @property
    def reads_long_texts(self) -> bool:
        """Whether longer texts are read in windows that have one result together."""
        return self.long_texts == "windows"
