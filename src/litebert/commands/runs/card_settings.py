"""Settings of model cards."""

from typing import Any

from pydantic import field_validator

from litebert.settings import Settings


class CardSettings(Settings):
    """What only the author of a model can say about it."""

    license: str | None = None
    """Licence of the model, such as `apache-2.0`; null leaves it out."""
    language: tuple[str, ...] = ()
    """Languages of the training text, such as `[en]`."""
    intended_uses: str | None = None
    """What the model is good for and what not, as Markdown; null leaves the section out."""

    @field_validator("language", mode="before")
    @classmethod
    def _norwegian_is_no_boolean(cls, codes: Any) -> Any:
        """YAML reads `[no]`, the code of Norwegian, as `[false]`."""
        return ["no" if code is False else code for code in codes] if isinstance(codes, list) else codes
