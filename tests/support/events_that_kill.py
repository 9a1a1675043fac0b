"""A process that dies at a chosen event, without dying."""

from collections.abc import Callable

import pytest
from litebert.training.callbacks.events import Event, Saved


class KilledError(BaseException):
    """The process would be gone."""


def killer(kind: type, step: int) -> Callable[[Event], None]:
    """A listener that ends the run at an event."""

    def listener(event: Event) -> None:
        if isinstance(event, kind) and event.position.step == step:
            raise KilledError

    return listener


def killed_after_saving(step: int, run: Callable[..., object]) -> None:
    """Do `run(callbacks=…)` until it has saved that step."""
    with pytest.raises(KilledError):
        run(callbacks=[killer(Saved, step)])
