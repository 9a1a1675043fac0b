"""What `evaluate` returns: scores with all their tables, by precision or of many files."""

from dataclasses import dataclass
from typing import Any

from litebert.commands.evaluate.evaluate_labelled import BenchmarkEvaluation
from litebert.commands.many_files.file_workers import FilesWritten
from litebert.commands.pretrain.validation import ValidationScores
from litebert.commands.result import Result
from litebert.tasks.metrics.evaluation import Evaluation


@dataclass(frozen=True)
class FullScores(Result):
    """Scores on one file, one benchmark or one corpus."""

    scores: Evaluation | BenchmarkEvaluation | ValidationScores

    def to_dict(self) -> dict[str, Any]:
        """The scores as plain values for JSON."""
        return self.scores.to_dict()

    def to_text(self) -> str:
        """The scores with all their tables."""
        return self.scores.to_report()


@dataclass(frozen=True)
class ScoresByPrecision(Result):
    """The scores of one model in fp32 and in another precision."""

    by_precision: dict[str, FullScores]

    def to_dict(self) -> dict[str, Any]:
        """Precision → the scores."""
        return {precision: scores.to_dict() for precision, scores in self.by_precision.items()}

    def to_text(self) -> str:
        """The scores, each after its precision."""
        return "\n".join(f"{precision}: {scores.to_text()}" for precision, scores in self.by_precision.items())


@dataclass(frozen=True)
class ScoresOfFiles(Result):
    """The scores on each of many files."""

    written: FilesWritten

    def to_dict(self) -> dict[str, Any]:
        """The files that were written, with their scores."""
        return self.written.to_dict()

    def to_text(self) -> str:
        """What was written, and below it the metrics of each file."""
        return "\n".join([self.written.to_text(), *map(_line, self.written.results.items())])


def _line(result: tuple[str, dict[str, Any]]) -> str:
    """The metrics of one of several files."""
    name, scores = result
    metrics = ", ".join(f"{metric} {value:.4f}" for metric, value in scores["metrics"].items())
    return f"  {name.removesuffix('.json')}: {metrics} on {scores['examples']:,} examples"
