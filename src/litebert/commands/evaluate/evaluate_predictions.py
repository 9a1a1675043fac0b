"""The evaluation of a prediction file on a labelled file or on a split of a benchmark."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from litebert.commands.data_arguments import FileExamples
from litebert.commands.evaluate.evaluate_labelled import benchmark_splits
from litebert.commands.evaluate.evaluate_settings import DevelopmentSplits, EvaluateRun
from litebert.commands.prediction_files.scored_examples import ScoredExamples
from litebert.commands.result import Result
from litebert.errors import ConfigError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.scored_predictions import left_out_note, without_unscored

CALIBRATION: Final = "calibration"


@dataclass(frozen=True)
class PredictionScores(Result):
    """The scores of a prediction file."""

    scores: Evaluation
    left_out: tuple[str, ...]
    """Metrics that need probabilities, which the file lacks."""

    def to_dict(self) -> dict[str, Any]:
        """The scores as plain values for JSON, as those of a model, and `left_out`."""
        return {**self.scores.to_dict(), "left_out": list(self.left_out)}

    def to_text(self) -> str:
        """The scores with all their tables."""
        return "\n".join([self.scores.to_report(), *left_out_note(self.left_out)])


def evaluate_predictions(run: EvaluateRun, source: FileExamples | DevelopmentSplits) -> PredictionScores:
    """The scores of the prediction file `run.model`."""
    file = Path(run.model)
    examples = _of_file(run, source, file) if isinstance(source, FileExamples) else _of_split(run, source)
    predictions = examples.predictions(file)
    task, left_out = without_unscored(examples.task, [predictions])
    calibration = (CALIBRATION,) if predictions.lacks_calibration else ()
    return PredictionScores(predictions.score(task, examples.data).evaluation, (*left_out, *calibration))


def _of_file(run: EvaluateRun, source: FileExamples, file: Path) -> ScoredExamples:
    options = {"metrics": run.metrics, "unlabelled_rows": run.unlabelled_rows}
    return ScoredExamples.of_file(source.path, source.columns, run, files=[file], **options)


def _of_split(run: EvaluateRun, source: DevelopmentSplits) -> ScoredExamples:
    splits = benchmark_splits(source)
    if len(splits) > 1:
        raise ConfigError(
            f"task: {source.task} has the development splits {', '.join(splits)}, and a prediction file is for one; "
            f"name its file, such as --split-file {splits[0]}=FILE"
        )
    split = BenchmarkSplit(task=source.task, split=splits[0], file=source.files.get(splits[0]))
    return ScoredExamples.of_split(split, source.directory, metrics=run.metrics)
