"""The evaluation of a model in training, with what `calibrate` and `tune_thresholds` fit to the development rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from litebert.commands.finetune.postprocessing.calibration import calibrated, fitted_temperature
from litebert.commands.finetune.postprocessing.logit_adjustment import UNCHANGED, LogitAdjustment
from litebert.commands.finetune.postprocessing.threshold_scores import ThresholdScores
from litebert.commands.finetune.postprocessing.validate_postprocessing import has_thresholds
from litebert.errors import NotFiniteError
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.pipeline import Pipeline
from litebert.inference.task_pipeline import ALONE, Workers
from litebert.tasks.metrics.evaluation import Evaluation, Part, Scored
from litebert.tasks.metrics.label_thresholds import label_thresholds
from litebert.tasks.metrics.metrics import METRICS, measure
from litebert.tasks.results import MULTI_LABEL_THRESHOLD, logits_of, sigmoid
from litebert.tasks.task_inference import Prediction


@dataclass(frozen=True)
class FittedEvaluation:
    """The evaluation of a model, as it is after its logits are adjusted."""

    evaluation: Evaluation
    adjustment: LogitAdjustment = UNCHANGED
    thresholds: ThresholdScores | None = None
    """Of a model that can have some, also where it keeps 0.5."""

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
    if not has_thresholds(pipeline.task_type, pipeline.labels):
        return FittedEvaluation(scored.evaluation)
    return _with_thresholds(dev, pipeline, scored, np.stack(predictions), tuned=tune_thresholds)


def _with_thresholds(
    dev: EvaluationSet, pipeline: Pipeline, at_half: Scored, probabilities: Float[np.ndarray, "N C"], *, tuned: bool
) -> FittedEvaluation:
    two_classes = not pipeline.task_type.predicts_each_label
    first = 1 if two_classes else 0  # the threshold of the second class is that of both
    logits, targets = logits_of(probabilities[:, first:]), dev.data.targets.astype(int)
    found = label_thresholds(logits, targets.reshape(len(logits), -1), macro=two_classes)
    cross_fitted = sigmoid(logits - found.cross_fitted)
    names = [name for name in dev.task.metrics if not METRICS[name].takes_probabilities]

    def scores(adjusted: Float[np.ndarray, "N T"]) -> dict[str, float]:
        # Of two equal probabilities the first class is predicted.
        predicted = adjusted > MULTI_LABEL_THRESHOLD if two_classes else adjusted >= MULTI_LABEL_THRESHOLD
        return measure(names, predicted.astype(int).reshape(targets.shape), targets)

    thresholds = ThresholdScores(
        tuned=tuned,
        thresholds=dict(zip(pipeline.labels[first:], sigmoid(found.chosen).tolist(), strict=True)),
        at_half=scores(sigmoid(logits)),
        cross_fitted=scores(cross_fitted),
        same_rows=scores(sigmoid(logits - found.chosen)),
    )
    if not tuned:
        return FittedEvaluation(at_half.evaluation, thresholds=thresholds)
    if two_classes:
        cross_fitted = np.concatenate([1 - cross_fitted, cross_fitted], axis=1)
    evaluation = _ranked_as(at_half.evaluation, _score(dev, pipeline, cross_fitted).evaluation)
    shifts = (0.0,) * first + tuple(found.chosen.tolist())
    return FittedEvaluation(evaluation, LogitAdjustment(shifts=shifts), thresholds)


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
