"""The best model of a run so far, kept while the run goes on. Before: evaluations. After: the exported model."""

import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from torch import nn

from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_weights, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.training.checkpointing.state_tensors import model_tensors
from litebert.training.distributed.context import DistributedContext
from litebert.training.protocols import Number

SelectBy = Literal["loss", "mlm_accuracy", "mlm_loss", "sop_accuracy", "nsp_accuracy"]
SCORE = "selected.json"

logger = logging.getLogger(__name__)


class BestModel:
    """Measures a model, and writes it to `directory` whenever it measures better than all before.

    The value stands in the directory itself, so a run that is killed and resumed forgets nothing.
    """

    def __init__(
        self,
        measure: Callable[[nn.Module], Mapping[str, Number]],
        *,
        metric_for_best_model: SelectBy,
        directory: Path,
        config: ModelConfig,
        world: DistributedContext,
        extra_files: Mapping[str, bytes],
    ) -> None:
        self._measure, self._select_by, self._directory = measure, metric_for_best_model, directory
        self._config, self._world, self._extra_files = config, world, extra_files
        self._best: float | None = world.on_rank_zero(self._kept)

    def __call__(self, model: nn.Module) -> Mapping[str, Number]:
        """The numbers of the evaluation; every process must call."""
        values = self._measure(model)
        value = self._as_score(values[self._select_by])
        if self._best is None or value > self._best:
            self._best = value
            whole = whole_model(model, self._config)
            self._world.on_rank_zero(lambda: self._keep(whole, values))
        return values

    def _as_score(self, value: Number) -> float:
        """Larger is better; what is not a number is worse than everything."""
        if math.isnan(value):
            return -math.inf
        return -value if self._select_by.endswith("loss") else value

    def _keep(self, model: nn.Module, values: Mapping[str, Number]) -> None:
        score = json.dumps({"metric_for_best_model": self._select_by, "value": values[self._select_by]}).encode()
        save_model(model, self._directory, extra_files={**self._extra_files, SCORE: score})
        logger.info("best %s so far, %.4g: kept in %s", self._select_by, values[self._select_by], self._directory)

    def _kept(self) -> float | None:
        path = self._directory / SCORE
        return self._as_score(json.loads(path.read_bytes())["value"]) if path.exists() else None


def whole_model(model: nn.Module, config: ModelConfig) -> nn.Module:
    """The pretraining model with all its weights, on the CPU, however it is placed; every process must call."""
    description = ModelSpec.parse({"model": "ForPretraining", "config": config.to_dict()}, where="model")
    return load_weights(description, model_tensors(model), where="the trained model")
