"""The result of a fine-tuning run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from litebert.commands.finetune.comparison import Scores
from litebert.commands.result import Result
from litebert.logs import readable_seconds
from litebert.tasks.metrics.evaluation import Evaluation


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
    best: dict[str, Any]
    """The evaluation of the best model: `step`, `metric_for_best_model` and the fields of `Evaluation`."""
    trained_parameters: int
    stopped_early_at: float | None
    """Learning rate at which early stopping ended the run; null if it did not."""
    baselines: Scores
    """The metrics of each baseline on the development examples; empty without baselines."""
    remarks: tuple[str, ...]
    """What is wrong with the model, such as a collapse; usually nothing."""

    def to_text(self) -> str:
        """The result as text."""
        evaluation = TypeAdapter(Evaluation).validate_python(self.best)
        early = (
            ""
            if self.stopped_early_at is None
            else f"\nstopped early at a learning rate of {self.stopped_early_at:.2g}, before the end of its schedule"
        )
        metric = self.best["metric_for_best_model"]
        baselines = "; ".join(f"{name} {scores[metric]:.4f}" for name, scores in self.baselines.items())
        lines = [
            f"{self.task_type} ({self.reason}): {self.train_examples:,} examples, {self.steps:,} steps in "
            f"{readable_seconds(self.elapsed_seconds)}, {self.trained_parameters:,} parameters trained{early}",
            f"best of {self.evaluations} evaluations, at step {self.best['step']:,}: {evaluation.to_text()}",
            *([f"baselines, {metric}: {baselines}"] if baselines else []),
            *(f"note: {remark}" for remark in self.remarks),
            f"model: {self.model}",
        ]
        return "\n".join(lines)
