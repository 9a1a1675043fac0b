"""The settings of `litebert quickstart`. Imports no torch, so that wrong settings are refused at once."""

from pydantic import Field

from litebert.settings import Settings


class QuickstartRun(Settings):
    """Settings of a quickstart."""

    text: tuple[str, ...] = ()
    """Text files, globs or directories; by default the documentation of the installed Python libraries."""
    minutes: float = Field(default=5.5, gt=0)
    """Approximate duration on two cores."""
    vocab_size: int = Field(default=4000, gt=5)
    """Maximum size of the vocabulary; a small text has fewer pieces."""
    keep_accents: bool = False
    """Keep accents and other combining marks; for text that is not English."""
    seed: int = Field(default=0, ge=0)
    """Seed of all random numbers."""
