"""Settings of the model card."""

from litebert.settings import Settings


class CardSettings(Settings):
    """What only the author of a model can say about it."""

    license: str | None = None
    """Licence of the model, such as `apache-2.0`; null leaves it out."""
    language: tuple[str, ...] = ()
    """Languages of the training text, such as `[en]`."""
