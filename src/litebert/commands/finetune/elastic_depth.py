"""Elastic depth: a model that is trained with several numbers of layers, and so can be used with each of them.

Layers that share their weights are trained by every depth. Sources: structured dropout of layers (Fan et al. 2020,
arXiv 1909.11556) and adaptive depth of DynaBERT (Hou et al. 2020, arXiv 2004.04037); here the first layers are kept.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from litebert.commands.finetune.postprocessing.postprocessing import FittedEvaluation
from litebert.errors import NotFiniteError
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.pipeline import Pipeline
from litebert.model.encoder import Encoder
from litebert.model.io.model_directory import load_weights, read_directory
from litebert.model.sharing_schedule import first_layers
from litebert.randomness import rng_for
from litebert.training.callbacks.callback import Callback, RunState, StepRecord


class ElasticDepth(Callback):
    """Draws how many layers each step trains: one of `depths` or all layers, with equal probabilities.

    The draw depends on the seed and the number of the step only, so that a resumed run has the same. All examples of a
    step, on every rank, have the same depth.
    """

    every_rank = True

    def __init__(self, encoder: Encoder, depths: Sequence[int], *, seed: int) -> None:
        self._encoder, self._seed = encoder, seed
        self._schedules = [*map(encoder.first_layers, depths), encoder.schedule]

    def on_train_begin(self, run: RunState) -> None:
        """Draw the depth of the first step."""
        self._draw(run)

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Draw the depth of the next step."""
        self._draw(run)

    def on_rollback(self, run: RunState) -> None:
        """Draw the depth of the first step after the checkpoint."""
        self._draw(run)

    def _draw(self, run: RunState) -> None:
        drawn = rng_for(self._seed, "elastic_depth", run.progress.step).integers(len(self._schedules))
        self._encoder.training_schedule = self._schedules[drawn]


def selection_metric(metric: str, depths: Sequence[int]) -> str:
    """What selects the best model: the metric, or with other depths its mean over them and all layers."""
    return f"{metric}_over_depths" if depths else metric


def evaluate_depths(
    evaluate: Callable[[], FittedEvaluation], encoder: Encoder, depths: Sequence[int], *, metric: str
) -> FittedEvaluation:
    """The evaluation with all layers, and the mean of its metric over all depths under `selection_metric`.

    It is NaN if the outputs of a depth are not finite.
    """
    found = evaluate()
    if not depths:
        return found
    scores = [found.metrics[metric]]
    for layers in depths:
        with _first_layers_only(encoder, layers):
            scores.append(evaluate().metrics[metric])
    metrics = {**found.metrics, selection_metric(metric, depths): fmean(scores)}
    return replace(found, evaluation=replace(found.evaluation, metrics=metrics))


@contextmanager
def _first_layers_only(encoder: Encoder, layers: int) -> Iterator[None]:
    schedule = encoder.schedule
    encoder.schedule = encoder.first_layers(layers)
    try:
        yield
    finally:
        encoder.schedule = schedule


def metrics_by_layers(
    directory: Path, dev: EvaluationSet, pipeline: Pipeline, depths: Sequence[int]
) -> dict[int, dict[str, float]]:
    """Number of layers → the metrics of the saved model in `directory` with its first layers only.

    They are those of the model that `litebert convert --layers` makes; NaN for one whose outputs are not finite.
    `pipeline` has everything but the model, with the settings of the saved one.
    """
    saved, device = read_directory(directory), next(pipeline.model.parameters()).device

    def metrics(layers: int) -> dict[str, float]:
        spec = saved.spec.replace(config=first_layers(saved.spec.config, layers).to_dict())
        model = load_weights(spec, saved.weights.tensors, where=str(directory)).to(device)
        try:
            return dev.score(replace(pipeline, model=model)).evaluation.metrics
        except NotFiniteError:
            return dev.undefined.metrics

    return {layers: metrics(layers) for layers in depths}
