"""Early stopping: ends a run whose evaluations no longer improve."""

import logging
import math
from collections.abc import Mapping
from typing import Any

from litebert.training.callbacks.callback import Callback, RunState, metric_of
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)


class EarlyStopping(Callback):
    """Stops a run after `patience` evaluations in a row without a better `metric`; NaN is not better.

    `greater_is_better` is true for the metrics of tasks, false for a loss.
    """

    every_rank = True

    def __init__(self, patience: int, *, metric: str, greater_is_better: bool = True) -> None:
        self._patience, self._metric, self._sign = patience, metric, 1 if greater_is_better else -1
        self._best: float | None = None
        self._evaluations_since_best = 0

    @property
    def exhausted(self) -> bool:
        """Whether the run should end."""
        return self._evaluations_since_best >= self._patience

    def update(self, metrics: Mapping[str, Number]) -> None:
        """Count an evaluation."""
        value = self._sign * metric_of(metrics, self._metric)
        if value > (-math.inf if self._best is None else self._best):
            self._best, self._evaluations_since_best = value, 0
        else:
            self._evaluations_since_best += 1

    def on_train_begin(self, run: RunState) -> None:
        """Stop a resumed run that had been stopped."""
        if self.exhausted:
            run.request_stop()

    def on_evaluate(self, run: RunState, metrics: Mapping[str, Number]) -> None:
        """Stop the run if the patience is exhausted."""
        self.update(metrics)
        if self.exhausted:
            run.request_stop()
            if run.world.rank == 0:
                logger.info("early stopping: %s has not improved in %d evaluations", self._metric, self._patience)

    def state_dict(self) -> dict[str, Any]:
        """The best score and the evaluations since."""
        return {"best": self._best, "evaluations_since_best": self._evaluations_since_best}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._best, self._evaluations_since_best = state["best"], state["evaluations_since_best"]
