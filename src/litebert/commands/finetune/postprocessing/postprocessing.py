"""The evaluation of a model in training, with what `calibrate` and `tune_thresholds` fit to the development rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from litebert.commands.finetune.postprocessing.calibration import calibrated, fitted_temperature
from litebert.commands.finetune.postprocessing.logit_adjustment import UNCHANGED, LogitAdjustment
from litebert.commands.finetune.postprocessing.threshold_scores import ThresholdScores
from litebert.errors import NotFiniteError
from litebert.inference.pipeline import ALONE, EvaluationSet, Pipeline, Workers
from litebert.tasks.metrics.evaluation import Evaluation, Part, Scored
from litebert.tasks.metrics.label_thresholds import label_thresholds
from litebert.tasks.metrics.metrics import METRICS, measure
from litebert.tasks.results import MULTI_LABEL_THRESHOLD, logits_of, sigmoid
from litebert.tasks.types.task_type import Prediction


@dataclass(frozen=True)
class FittedEvaluation:
    """The evaluation of a model, as it is after its logits are adjusted."""

    evaluation: Evaluation
    adjustment: LogitAdjustment = UNCHANGED
    thresholds: ThresholdScores | None = None
    """Of a multi-label model, also where it keeps 0.5."""

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics over all examples, with thresholds."""
        return self.evaluation.metrics


def evaluate_fitted(
    dev: EvaluationSet, pipeline: Pipeline, workers: Workers = ALONE, *, calibrate: bool, tune_thresholds: bool
) -> FittedEvaluation:
    """The scores on the development rows, to which the adjustment is fitted; NaN if outputs are not finite.

    Scores with tuned thresholds are cross-fitted: each row has thresholds that other rows chose.
    """
    try:
        predictions = pipeline.predict_encoded(dev.encoded, workers=workers)
    except NotFiniteError:
        return FittedEvaluation(dev.undefined)
    if calibrate:
        temperature = fitted_temperature(np.stack(predictions), dev.data.targets)
        scored = _score(dev, pipeline, calibrated(np.stack(predictions), temperature))
        return FittedEvaluation(scored.evaluation, LogitAdjustment(temperature=temperature))
    scored = _score(dev, pipeline, predictions)
    if not pipeline.task_type.predicts_each_label:
        return FittedEvaluation(scored.evaluation)
    return _with_thresholds(dev, pipeline, scored, np.stack(predictions), tuned=tune_thresholds)


def _with_thresholds(
    dev: EvaluationSet, pipeline: Pipeline, at_half: Scored, probabilities: Float[np.ndarray, "N C"], *, tuned: bool
) -> FittedEvaluation:
    logits = logits_of(probabilities)
    found = label_thresholds(logits, at_half.targets)
    cross_fitted = sigmoid(logits - found.cross_fitted)
    names = [name for name in dev.task.metrics if not METRICS[name].takes_probabilities]

    def scores(adjusted: Float[np.ndarray, "N C"]) -> dict[str, float]:
        return measure(names, (adjusted >= MULTI_LABEL_THRESHOLD).astype(int), at_half.targets)

    thresholds = ThresholdScores(
        tuned=tuned,
        thresholds=dict(zip(pipeline.labels, sigmoid(found.chosen).tolist(), strict=True)),
        at_half=scores(probabilities),
        cross_fitted=scores(cross_fitted),
        same_rows=scores(sigmoid(logits - found.chosen)),
    )
    if not tuned:
        return FittedEvaluation(at_half.evaluation, thresholds=thresholds)
    evaluation = _ranked_as(at_half.evaluation, _score(dev, pipeline, cross_fitted).evaluation)
    return FittedEvaluation(evaluation, LogitAdjustment(shifts=tuple(found.chosen.tolist())), thresholds)


def _score(dev: EvaluationSet, pipeline: Pipeline, predictions: Iterable[Prediction]) -> Scored:
    return dev.score_predictions(pipeline, list(predictions))


def _ranked_as(plain: Evaluation, cross_fitted: Evaluation) -> Evaluation:
    """The cross-fitted evaluation; metrics of probabilities, such as the ROC AUC, do not depend on thresholds."""

    def merged(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
        return {name: (before if METRICS[name].takes_probabilities else after)[name] for name in after}

    def parts(before: Sequence[Part], after: Sequence[Part]) -> tuple[Part, ...]:
        pairs = zip(before, after, strict=True)
        return tuple(replace(part, metrics=merged(earlier.metrics, part.metrics)) for earlier, part in pairs)

    return replace(
        cross_fitted,
        metrics=merged(plain.metrics, cross_fitted.metrics),
        by_length=parts(plain.by_length, cross_fitted.by_length),
        by_slice=parts(plain.by_slice, cross_fitted.by_slice),
    )
