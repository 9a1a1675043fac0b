"""When to stop a run that no longer gets better. Before: its evaluations. After: `trainer.py` ends it."""

import math
from collections.abc import Mapping
from typing import Any

from litebert.training.protocols import Number


class EarlyStopping:
    """Waits so many evaluations for one that is better than all before; then it is `exhausted`."""

    def __init__(self, evaluations: int | None = None, *, by: str = "loss") -> None:
        """`by` is the number that counts, of which more is better. None waits for ever."""
        self._evaluations, self._by = evaluations, by
        self._best: float | None = None
        self._waited = 0

    @property
    def exhausted(self) -> bool:
        """Whether the run should end."""
        return self._evaluations is not None and self._waited >= self._evaluations

    def saw(self, values: Mapping[str, Number]) -> None:
        """Count an evaluation; what is not a number is no better than anything."""
        if self._evaluations is None:
            return
        value = float(values[self._by])
        if not math.isnan(value) and (self._best is None or value > self._best):
            self._best, self._waited = value, 0
        else:
            self._waited += 1

    def state(self) -> dict[str, Any]:
        """What a continued run needs in order to end at the same step."""
        return {"best": self._best, "waited": self._waited}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` gave."""
        self._best, self._waited = state["best"], state["waited"]
