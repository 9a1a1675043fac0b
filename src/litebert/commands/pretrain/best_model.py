"""The best model of a run so far, saved during the run."""

import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from torch import nn

from litebert.commands.pretrain.pretrain_settings import BestModelMetric
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_weights, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.training.checkpointing.state_tensors import model_tensors
from litebert.training.distributed.context import DistributedContext
from litebert.training.protocols import Number

METRIC_FILE = "best_metric.json"

logger = logging.getLogger(__name__)


class BestModel:
    """Evaluates a model, and saves it to `directory` whenever it is better than all before.

    The best value is stored in the directory itself, so a run that is killed and resumed knows it.
    """

    def __init__(
        self,
        evaluate: Callable[[nn.Module], Mapping[str, Number]],
        *,
        metric_for_best_model: BestModelMetric,
        directory: Path,
        config: ModelConfig,
        world: DistributedContext,
        extra_files: Mapping[str, bytes],
    ) -> None:
        self._evaluate, self._metric, self._directory = evaluate, metric_for_best_model, directory
        self._config, self._world, self._extra_files = config, world, extra_files
        self._best: float | None = world.on_rank_zero(self._saved_score)

    def __call__(self, model: nn.Module) -> Mapping[str, Number]:
        """The metrics of the evaluation; every process must call."""
        values = self._evaluate(model)
        score = self._score(values[self._metric])
        if self._best is None or score > self._best:
            self._best = score
            gathered = full_model(model, self._config)
            self._world.on_rank_zero(lambda: self._save(gathered, values))
        return values

    def _score(self, value: Number) -> float:
        """Larger is better; NaN is worse than everything."""
        if math.isnan(value):
            return -math.inf
        return -value if self._metric.endswith("loss") else value

    def _save(self, model: nn.Module, values: Mapping[str, Number]) -> None:
        metric = json.dumps({"metric_for_best_model": self._metric, "value": values[self._metric]}).encode()
        save_model(model, self._directory, extra_files={**self._extra_files, METRIC_FILE: metric})
        logger.info("best %s so far: %.4g; model saved to %s", self._metric, values[self._metric], self._directory)

    def _saved_score(self) -> float | None:
        path = self._directory / METRIC_FILE
        return self._score(json.loads(path.read_bytes())["value"]) if path.exists() else None


def full_model(model: nn.Module, config: ModelConfig) -> nn.Module:
    """The pretraining model with all its weights on the CPU, sharded or not; every process must call."""
    spec = ModelSpec.parse({"model": "ForPretraining", "config": config.to_dict()}, where="model")
    return load_weights(spec, model_tensors(model), where="the trained model")
