"""A fine-tuned model beside simple baselines, and the likely causes where it learned nothing."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from litebert.commands.finetune.best_evaluation import BestEvaluation, Metrics
from litebert.commands.finetune.data.run_data import RunData
from litebert.commands.finetune.data.task_objective import score_scale
from litebert.commands.finetune.default_settings import settings_for_size
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import MissingExtraError, import_extra
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.types.registry import get_task_type

logger = logging.getLogger(__name__)

Scores = dict[str, Metrics]
"""Metrics by baseline."""
SIMILAR: Final = 0.98
"""A training loss above this share of that of constant predictions is not below it; both above the lowest loss."""
FEW_TRAIN_ROWS: Final = 500
FEW_EVAL_ROWS: Final = 50
"""Below it chance alone reaches a Matthews correlation of 0.3, which has no interval."""


def baseline_scores(data: RunData) -> Scores:
    """The scores of the baselines on the development rows; the linear one is left out without scikit-learn."""
    baselines = get_task_type(data.task.task_type).baselines
    if baselines is None:
        return {}
    found: Scores = {}
    for name, score in (baselines.constant, baselines.linear):
        try:
            found[name] = score(data.task, data.train, data.dev)
        except MissingExtraError as error:
            logger.warning("baseline %s: left out, because %s", name, error)
            continue
        metric = data.task.metric_for_best_model
        logger.info("baseline %s: %s %.4f", name, metric, found[name][metric])
    return found


def scores_of_baseline(which: Literal["constant", "linear"], data: RunData) -> dict[str, float]:
    """The metrics of one baseline on the development rows; none for a task without baselines, such as extractive QA.

    Raises MissingExtraError for the linear one without scikit-learn.
    """
    baselines = get_task_type(data.task.task_type).baselines
    if baselines is None:
        return {}
    _, score = baselines.linear if which == "linear" else baselines.constant
    return score(data.task, data.train, data.dev)


def require_scikit_learn(tasks: Sequence[str], *, needed_for: str) -> None:
    """Raises MissingExtraError before hours of training, not after them, if a benchmark has a linear baseline."""
    if any(get_task_type(benchmark_task(task).task_type).baselines for task in tasks):
        import_extra("sklearn", extra="eval", needed_for=needed_for, package="scikit-learn")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What is judged after a run."""

    best: BestEvaluation
    """The evaluation of the best model."""
    baselines: Scores
    train_losses: tuple[float, ...]
    """Of each logged step, in order."""
    steps: int
    skipped_steps: int
    """Steps without an update."""
    hidden_size: int


def remarks(run: FinetuneRun, data: RunData, outcome: Outcome) -> tuple[str, ...]:
    """Sentences about a model that has collapsed, did not learn, or is no better than a baseline; usually none."""
    if outcome.skipped_steps == outcome.steps > 0:
        return ("no step had a finite loss and gradient, so no weight changed: check the scores and the precision",)
    failure = _failure(run, data, outcome)
    causes = f"{failure}. Likely causes: {'; '.join(_causes(run, data, outcome))}" if failure else ""
    return tuple(sentence for sentence in (causes, _not_better(data, outcome)) if sentence)


def _failure(run: FinetuneRun, data: RunData, outcome: Outcome) -> str:
    task_type = get_task_type(data.task.task_type)
    if not outcome.best.evaluation.has_scores:
        return (
            "no evaluated model has scores that are finite: its weights have diverged, or its metrics are not defined "
            "on the development rows"
        )
    if reason := task_type.collapse(outcome.best.evaluation):
        if (rows := outcome.best.evaluation.examples) < FEW_EVAL_ROWS:
            return (
                f"{rows:,} development rows are too few to say whether the model learned: {reason}; give more (--dev)"
            )
        return f"the model seems to have collapsed: {reason}"
    if task_type.baselines is None or run.class_weights is not None or not outcome.train_losses:
        return ""
    scale = score_scale(run, data.train)
    constant = task_type.baselines.constant_loss(data.train) / (scale.std**2 if scale else 1)
    loss = float(np.mean(outcome.train_losses[-max(1, len(outcome.train_losses) // 10) :]))
    lowest = task_type.baselines.lowest_loss(data.train)
    # Written so that a loss that is not a number counts as well.
    if not loss - lowest < SIMILAR * (constant - lowest) and not _better_than_constant(outcome):
        of_soft = f", the lowest possible for its soft labels {lowest:.3f}" if lowest else ""
        return (
            f"the model did not learn: its training loss is {loss:.3f}, that of a constant prediction {constant:.3f}"
            f"{of_soft}"
        )
    return ""


def _better_than_constant(outcome: Outcome) -> bool:
    """Whether the 95 % interval of the accuracy is above the majority class."""
    found = outcome.best.evaluation
    if not found.accuracy_interval or not found.confusion_matrix:
        return False
    return found.accuracy_interval[0] > max(map(sum, found.confusion_matrix)) / found.examples


def _causes(run: FinetuneRun, data: RunData, outcome: Outcome) -> list[str]:
    rows = len(data.train.examples)
    usual = settings_for_size(outcome.hidden_size, rows, optimizer=run.train.optimizer)
    rates = {"learning_rate": usual.learning_rate, "muon_learning_rate": usual.muon_learning_rate}
    causes = ["the weights were random: give a pretrained model"] if run.from_scratch else []
    for name, expected in rates.items():
        rate = getattr(run.train, name)
        if expected is not None and not expected / 4 <= rate <= expected * 4:
            level, words = "low" if rate < expected else "high", name.replace("_", " ").replace("muon", "Muon")
            causes.append(f"a {words} of {rate:g} is {level}: set train.{name}={expected:.2g}")
    if outcome.steps < usual.steps(rows) / 2:
        causes.append(f"{outcome.steps:,} steps are few: set train.duration='{usual.epochs} epochs'")
    if rows < FEW_TRAIN_ROWS:
        causes.append(f"{rows:,} training rows are few: give more")
    return causes or ["the texts may not tell the labels: check them, or try another seed or a larger pretrained model"]


def _not_better(data: RunData, outcome: Outcome) -> str:
    if not outcome.best.evaluation.has_scores:
        return ""
    metric, own = outcome.best.metric, outcome.best.score
    better = {name: scores[metric] for name, scores in outcome.baselines.items() if not own > scores[metric]}
    if not better:
        return ""
    name, score = max(better.items(), key=lambda item: item[1])
    rows = outcome.best.evaluation.examples
    interval = outcome.best.evaluation.accuracy_interval if metric == "accuracy" else None
    if score <= interval[1] if interval else rows < FEW_EVAL_ROWS:
        return (
            f"{rows:,} development rows are too few to say whether the model ({metric} {own:.4f}) or the baseline "
            f"{name} ({score:.4f}) is better; give more (--dev)"
        )
    return f"the model ({metric} {own:.4f}) does not beat the baseline {name} ({score:.4f})"
