"""The evaluation of the best model of a fine-tuning run, as `evaluation.json` and `result.json` hold it."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from litebert.commands.finetune.postprocessing.threshold_scores import ThresholdScores
from litebert.errors import CheckpointError
from litebert.files import read_json_object
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.metrics.metrics import METRICS

PARTS: Final = ("by_length", "by_slice", "by_label")
"""Fields of an evaluation with the scores of parts of the examples."""


def _with_nan(metrics: Any) -> Any:
    if not isinstance(metrics, dict):
        return metrics
    return {name: math.nan if value is None else value for name, value in metrics.items()}


def _parts_with_nan(parts: Any) -> Any:
    if not isinstance(parts, list) or not all(isinstance(each, dict) for each in parts):
        return parts
    return [{**each, "metrics": _with_nan(each.get("metrics"))} for each in parts]


Metrics = Annotated[dict[str, float], BeforeValidator(_with_nan)]
"""Metric → score; `result.json` has null for a score that is not a number."""


@dataclass(frozen=True, kw_only=True)
class BestEvaluation:
    """The evaluation of the best model on the development examples."""

    step: int
    metric: str
    """The metric that selected the model; `metric_for_best_model` in files."""
    evaluation: Evaluation
    development_examples: str = ""
    """Fingerprint of the development examples, as tokens; empty for a model of an earlier version."""
    temperature: float | None = None
    """What the logits were divided by; None without calibration."""
    thresholds: ThresholdScores | None = None
    """Of a model of several labels or of two classes: what tuned thresholds change. None: of an earlier version."""
    elastic_depth: tuple[int, ...] = ()
    """Other numbers of layers than all with which the model was trained."""

    @property
    def score(self) -> float:
        """The value of the metric that selected the model."""
        return self.metrics[self.metric]

    @property
    def scores(self) -> dict[str, float]:
        """The metrics without what else `metrics` holds, such as thresholds."""
        return {name: value for name, value in self.metrics.items() if name in METRICS}

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics over all examples, with thresholds."""
        return self.evaluation.metrics

    def to_dict(self) -> dict[str, Any]:
        """The flat content of the file; `parse` is the inverse."""
        values = {"step": self.step, "metric_for_best_model": self.metric, **self.evaluation.to_dict()}
        if self.temperature is not None:
            values["temperature"] = self.temperature
        if self.thresholds is not None:
            values["thresholds"] = asdict(self.thresholds)
        if self.elastic_depth:
            values["elastic_depth"] = list(self.elastic_depth)
        if self.development_examples:
            values["development_examples"] = self.development_examples
        return values

    @classmethod
    def parse(cls, values: Any) -> Self:
        """The evaluation with these values; raises pydantic's ValidationError for any other content."""
        if isinstance(values, dict):
            parts = {name: _parts_with_nan(values[name]) for name in PARTS if name in values}
            evaluation = {**values, **parts, "metrics": _with_nan(values.get("metrics"))}
            values = {**values, "metric": values.get("metric_for_best_model"), "evaluation": evaluation}
            if isinstance(scores := values.get("thresholds"), dict):
                values["thresholds"] = {name: _with_nan(each) for name, each in scores.items()}
        return TypeAdapter(cls).validate_python(values)

    @classmethod
    def read(cls, path: Path, *, if_missing: str) -> Self:
        """The evaluation in a file; raises CheckpointError if there is none; `if_missing` is advice for that case."""
        values = read_json_object(path, if_missing=if_missing)
        try:
            return cls.parse(values)
        except ValidationError:
            raise CheckpointError(
                f"{path}: not the evaluation of a fine-tuned model; take a fresh copy, or start in a new directory"
            ) from None
