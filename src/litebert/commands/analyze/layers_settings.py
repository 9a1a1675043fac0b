"""The settings of `litebert analyze layers`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from litebert.settings import Settings


class LayersRun(Settings):
    """Which layers are measured, on which text."""

    models: tuple[str, ...] = Field(min_length=1)
    """Model or run directories, or names on the hub."""
    corpus: Path
    """Corpus directory, whose validation split is read."""
    out: Path = Path("layers.png")
    """Picture to write (.png)."""
    examples: int = Field(default=64, ge=1)
    """Number of examples of at most 128 tokens, drawn as in the pretraining of each model."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.out.suffix != ".png":
            raise ValueError(f"out: {self.out.name!r}, but the picture is a PNG file; give a name that ends in .png")
        return self
