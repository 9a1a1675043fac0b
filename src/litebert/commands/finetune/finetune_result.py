"""The result of a fine-tuning run, and the model card of its best model."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator
from torch import nn

from litebert.commands.finetune.best_evaluation import BestEvaluation, Metrics
from litebert.commands.finetune.comparison import Scores
from litebert.commands.finetune.data.run_data import RunData
from litebert.commands.finetune.data_settings import LabelledFiles
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.hub_results import hub_dataset, hub_results
from litebert.commands.result import Result
from litebert.commands.runs.model_card import HubMetadata, hub_name, model_card, name_in_card
from litebert.files import model_name
from litebert.logs import readable_seconds
from litebert.tasks.types.registry import get_task_type


@dataclass(frozen=True)
class FinetuneResult(Result):
    """The result of a finished run, also in its `result.json`."""

    model: Path
    task_type: str
    reason: str
    """Why the data was read as this task type."""
    train_examples: int
    max_length: int
    """Longest input in tokens."""
    steps: int
    evaluations: int
    """Number of evaluations of which the best was chosen."""
    elapsed_seconds: float
    best: Annotated[BestEvaluation, PlainValidator(BestEvaluation.parse), PlainSerializer(BestEvaluation.to_dict)]
    """The evaluation of the best model; in `result.json` as the flat `BestEvaluation.to_dict`."""
    trained_parameters: int
    stopped_early_at: float | None
    """Learning rate at which early stopping ended the run; null if it did not."""
    baselines: Scores
    """The metrics of each baseline on the development examples; empty without baselines."""
    remarks: tuple[str, ...]
    """What is wrong with the model, such as a collapse; usually nothing."""
    by_layers: dict[int, Metrics] = field(default_factory=dict)
    """Number of layers → the metrics of the best model with its first layers only, for each one of `elastic_depth`."""
    rows: dict[str, str] = field(default_factory=dict)
    """Fingerprints of the rows, under `train` and `dev`; empty for a run of an earlier version."""
    model_fingerprint: str = ""
    """Fingerprint of the model directory that the run started from; empty for random weights, for a model of the hub
    and for a run of an earlier version."""

    @property
    def scores(self) -> dict[str, float]:
        """Metric → score of the best model, without what else `best.metrics` holds, such as thresholds."""
        return self.best.scores

    def to_text(self) -> str:
        """The result as text."""
        early = (
            ""
            if self.stopped_early_at is None
            else f"\nstopped early at a learning rate of {self.stopped_early_at:.2g}, before the end of its schedule"
        )
        metric = self.best.metric
        baselines = "; ".join(f"{name} {scores[metric]:.4f}" for name, scores in self.baselines.items())
        thresholds = self.best.thresholds.to_text(metric) if self.best.thresholds else ""
        by_layers = ", ".join(f"first {layers}: {metrics[metric]:.4f}" for layers, metrics in self.by_layers.items())
        lines = [
            f"{self.task_type} ({self.reason}): {self.train_examples:,} examples, {self.steps:,} steps in "
            f"{readable_seconds(self.elapsed_seconds)}, {self.trained_parameters:,} parameters trained{early}",
            f"best of {self.evaluations} evaluations, at step {self.best.step:,}: {self.best.evaluation.to_text()}",
            *([thresholds] if thresholds else []),
            *([f"baselines, {metric}: {baselines}"] if baselines else []),
            *([f"{metric} by layers: {by_layers}, all: {self.best.score:.4f}"] if by_layers else []),
            *(f"note: {remark}" for remark in self.remarks),
            f"model: {self.model}",
        ]
        return "\n".join(lines)


def provenance(run: FinetuneRun, data: RunData) -> dict[str, str]:
    """What the run trains and how, in words: for the model card and `environment.json`."""
    return {
        "objective": data.task.task_type.replace("_", " "),
        "initialization": _initialization(run, data, of=run.model),
        "exported model": f"the best by {data.task.metric_for_best_model} on the development examples",
        "development examples": f"{len(data.dev.examples):,}: {data.selection}",
    }


def _initialization(run: FinetuneRun, data: RunData, *, of: str) -> str:
    """What the run started from, with `of` as the name of its model."""
    is_new = bool(get_task_type(data.task.task_type).head) and not run.keep_head
    return "random" if run.from_scratch else f"weights of {of}, {'a new head' if is_new else 'its own head'}"


def _hub_metadata(run: FinetuneRun, result: FinetuneResult, *, task: str) -> HubMetadata:
    trained_on = hub_dataset(run.data, is_dev=False)
    return HubMetadata(
        task=task,
        base_model=None if run.from_scratch else hub_name(run.model),
        datasets=(trained_on.type,) if trained_on.is_on_hub else (),
        name=model_name(str(result.model)),
        results=hub_results(hub_dataset(run.data, is_dev=True), result.scores, task=task),
    )


def finetune_card(run: FinetuneRun, data: RunData, result: FinetuneResult, model: nn.Module) -> str:
    """The model card of the best model of a finished run."""
    task_type = get_task_type(data.task.task_type)
    card = task_type.card
    argument = card.pair_argument if card.pair_argument and len(data.task.text) > 1 else card.argument
    metric, words = data.task.metric_for_best_model, provenance(run, data)
    words["initialization"] = _initialization(run, data, of=name_in_card(run.model))
    if result.best.temperature is not None:
        words["probabilities"] = (
            f"calibrated on the development examples: logits divided by {result.best.temperature:.3g}"
        )
    if result.best.thresholds is not None and result.best.thresholds.tuned:
        words["thresholds"] = result.best.thresholds.description
        if result.by_layers:
            words["thresholds"] += ", those of the first layers are not"
    if result.evaluations > 1:
        words["exported model"] += f", of {result.evaluations} evaluations: these scores are optimistic"
    return model_card(
        model,
        title=card.title,
        hub=_hub_metadata(run, result, task=card.pipeline_tag),
        summary=" ".join(
            [f"Fine-tuned for {card.goal(data.task)}.", *(f"{each[0].upper()}{each[1:]}." for each in result.remarks)]
        ),
        use=f'from litebert import Predictor\n\nPredictor.load(".").{task_type.inference.method}({argument})',
        scores={
            **result.best.metrics,
            **{f"{metric} of the first {layers} layers": each[metric] for layers, each in result.by_layers.items()},
            **{f"{metric} of the baseline {name}": scores[metric] for name, scores in result.baselines.items()},
            "step": result.best.step,
        },
        settings={
            **words,
            "training data": data.train.path.name if isinstance(run.data, LabelledFiles) else run.data.task,
            "training examples": result.train_examples,
            "longest input in tokens": result.max_length,
            "duration": str(run.train.duration),
            "learning rate": run.train.learning_rate,
            "batch size": run.batch_size,
            "seed": run.seed,
        },
        card=run.card,
    )
