"""What the functions of the Python API return."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from litebert.analysis.curves import Curve, read_curves
from litebert.commands.result import Result
from litebert.commands.runs.run_directory import RunDirectory
from litebert.errors import DataError, import_extra
from litebert.inference.predictor import Predictor
from litebert.model.io.push import PushResult, push_to_hub
from litebert.tasks.metrics.evaluation import Evaluation

SHOWN = 3
"""Predictions that `repr` shows."""


@dataclass(frozen=True)
class TrainedModel:
    """A finished run of `pretrain` or `finetune`."""

    directory: Path
    """The run directory."""
    result: Result
    """Also in its `result.json`; `result.to_text()` is what the command prints."""
    metrics: Mapping[str, float]
    """Of the exported model on the development examples or the validation split."""

    def __fspath__(self) -> str:
        """The run directory, so that a run is given where a model or run directory is asked for."""
        return str(self.directory)

    @property
    def model(self) -> Path:
        """The model directory; `load_model`, `Predictor.load` and transformers read it."""
        return RunDirectory(self.directory).model

    @property
    def curves(self) -> dict[str, Curve]:
        """Every recorded metric over the steps, by its name, such as `train/loss`."""
        return read_curves(RunDirectory(self.directory).metrics)

    @cached_property
    def predictor(self) -> Predictor:
        """The loaded model."""
        return Predictor.load(self.model)

    def to_pandas(self) -> Any:
        """A data frame of the curves: one row for each step, one column for each metric."""
        columns = {name: dict(zip(curve.steps, curve.values, strict=True)) for name, curve in self.curves.items()}
        steps = sorted({step for values in columns.values() for step in values})
        return data_frame(
            [{"step": step} | {name: values.get(step) for name, values in columns.items()} for step in steps]
        )

    def plot(self) -> Any:
        """A matplotlib figure of the losses and of the development metrics over the steps."""
        from litebert.analysis.plots import curves_figure

        return curves_figure(self.curves)

    def push_to_hub(
        self, name: str, *, token: str | None = None, private: bool | None = None, revision: str | None = None
    ) -> PushResult:
        """Upload the model to the Hugging Face hub; `litebert.push_to_hub` describes the arguments."""
        return push_to_hub(self.model, name, token=token, private=private, revision=revision)

    def __repr__(self) -> str:
        """The directory and the metrics."""
        return f"TrainedModel({str(self.directory)!r}: {_shown(self.metrics)})"

    def __str__(self) -> str:
        return self.result.to_text()


@dataclass(frozen=True)
class Predictions(Sequence[Any]):
    """A prediction for each input, in the order of the inputs."""

    predictions: tuple[Any, ...]
    """Such as `Classification`, with label and probabilities; `Predictor` describes each class."""
    inputs: tuple[Mapping[str, Any], ...]
    """The rows that were predicted."""

    def __getitem__(self, index: Any) -> Any:
        return self.predictions[index]

    def __len__(self) -> int:
        return len(self.predictions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.predictions)

    def __repr__(self) -> str:
        """The number of predictions and the first ones, however many there are."""
        first = ", ".join(map(repr, self.predictions[:SHOWN]))
        more = ", …" if len(self) > SHOWN else ""
        return f"Predictions({len(self):,}: {first}{more})" if self.predictions else "Predictions(0)"

    def to_pandas(self) -> Any:
        """A data frame of the inputs with the columns that `litebert predict` writes.

        Raises DataError where an input has a column of that name.
        """
        records = [each.to_record() for each in self.predictions]
        for row, record in zip(self.inputs, records, strict=True):
            if taken := sorted(row.keys() & record.keys()):
                raise DataError(f"to_pandas: column {taken[0]!r} is where the prediction is written; rename it")
        return data_frame([{**row, **record} for row, record in zip(self.inputs, records, strict=True)])


@dataclass(frozen=True)
class EvaluationResult:
    """The scores of a fine-tuned model, and its prediction for each example."""

    evaluation: Evaluation
    """All scores: intervals, the confusion matrix, calibration, scores by label, length and slice."""
    predictions: Predictions

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics over all examples."""
        return self.evaluation.metrics

    def to_pandas(self) -> Any:
        """A data frame of the rows that were read, with their predictions."""
        return self.predictions.to_pandas()

    def plot(self) -> Any:
        """A matplotlib figure: the confusion matrix, or bars of the metrics for task types without one."""
        from litebert.analysis.plots import bars_figure, confusion_figure

        matrix, labels = self.evaluation.confusion_matrix, self.evaluation.labels
        return confusion_figure(matrix, labels) if matrix and labels else bars_figure(self.metrics)

    def __repr__(self) -> str:
        """The number of examples and the metrics; `print` shows all scores."""
        return f"EvaluationResult({len(self.predictions):,} examples: {_shown(self.metrics)})"

    def __str__(self) -> str:
        return self.evaluation.to_report()


def _shown(metrics: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:,.4f}" for name, value in metrics.items()
    )


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A `pandas.DataFrame`; MissingExtraError without pandas."""
    return import_extra("pandas", extra="pandas", needed_for="to_pandas()").DataFrame(list(rows))
