"""`TaskPipeline`: examples → sequences → outputs of a model → predictions, for torch and for exported models.

Evaluation, prediction, ensembles, submission files and `Predictor` all use it.
"""

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self, cast

import numpy as np

from litebert.errors import ConfigError, NotFiniteError
from litebert.settings import InferencePrecision, validate_not_given
from litebert.tasks.encoded import Encoded, warn_empty
from litebert.tasks.file_formats import validate_columns_apply
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, UnlabelledRows
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns, SavedTask
from litebert.tasks.readers.tables import Table
from litebert.tasks.results import DecodedPrediction, reorder_labels
from litebert.tasks.task_inference import Prediction, is_finite
from litebert.tasks.types.extractive_qa.extractive_qa import NO_ANSWER
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold, QuestionSettings
from litebert.tasks.types.task_type import ReadOptions, TaskType
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes that share the work; by default this one alone."""

    rank: int = 0
    size: int = 1
    gather: Callable[[Any], list[Any]] = lambda value: [value]
    """The value of every rank, in the order of ranks."""


ALONE: Final = Workers()


@dataclass(frozen=True, kw_only=True)
class TaskPipeline(ABC):
    """One fine-tuned model with everything that its predictions depend on."""

    tokenizer: Tokenizer
    task_type: TaskType
    labels: tuple[str, ...]
    """Label names in the order of the model."""
    settings: InputSettings
    precision: InferencePrecision = "fp32"
    """Arithmetic of the model; never `auto`."""
    dtype: type[np.floating] = np.float32
    """Of probabilities; float64 for the members of an ensemble."""
    place: str = "the model"
    """What messages call it: its directory, if it was loaded from one."""
    saved_task: SavedTask | None = None
    """The task that the model was fine-tuned for, with the columns of its data, if its directory names it."""

    @abstractmethod
    def in_fp32(self) -> Self | None:
        """The same model in fp32; None for an exported model whose directory has no such graph."""

    @abstractmethod
    def _outputs(self, encoded: Encoded, *, rank: int, world_size: int) -> list[Any]:
        """The output for each of the sequences rank, rank + world_size, …"""

    @property
    def task(self) -> str:
        """Name of the task type."""
        return self.task_type.name

    @property
    def method(self) -> str:
        """The method of a `Predictor` for this task."""
        return self.task_type.inference.method

    @property
    def max_length(self) -> int:
        """Longest sequence in tokens."""
        return self.settings.max_length

    @property
    def reads_single_texts(self) -> bool:
        """Whether it was trained on single texts; False where that is not known."""
        return self.saved_task is not None and self.saved_task.reads_single_texts

    @property
    def reads_long_texts(self) -> bool:
        """Whether longer texts are read in windows."""
        return self.settings.reads_long_texts

    def with_threshold(self, given: float | None) -> tuple[Self, NoAnswerThreshold | None]:
        """The pipeline with `given` or the threshold chosen in fine-tuning, above which a question has no answer.

        None for task types without a threshold; ConfigError if one is given for them.
        """
        if self.task != NO_ANSWER:
            validate_no_threshold(self.task, given)
            return self, None
        used = cast(QuestionSettings, self.settings).threshold(given)
        if used.source == "default":
            advice = "; `litebert evaluate` on labelled questions finds the best one for --threshold"
            logger.warning("%s: no-answer threshold %s%s", self.place, used.to_text(), advice)
        else:
            logger.info("%s: no-answer threshold %s", self.place, used.to_text())
        settings = self.settings.model_copy(update={"no_answer_threshold": used.value})
        return replace(self, settings=settings), used

    def labelled_data(
        self,
        file: Path,
        columns: Columns,
        *,
        unlabelled_rows: UnlabelledRows = "error",
        table: Table | None = None,
    ) -> LabelledData:
        """A labelled file as this model reads it; ConfigError for columns of a file that has none.

        `table` are the rows, where they are in memory; `file` is their file, or their name.
        """
        validate_columns_apply(columns, file)
        options = ReadOptions(
            task_type=self.task_type.name,
            labels=self.labels if self.task_type.has_labels else None,
            unlabelled_rows=unlabelled_rows,
        )
        return read_labelled(file, columns, saved=self.saved_task, options=options, table=table)

    def encode(self, examples: Sequence[Any]) -> Encoded:
        """The sequences of some examples."""
        return self.task_type.inference.encode(examples, self.tokenizer, self.settings)

    def predict(self, examples: Sequence[Any]) -> list[Prediction]:
        """The prediction for each example; that for an empty text is that of the special tokens alone."""
        return self.predict_encoded(self.encode(examples)) if examples else []

    def predict_encoded(self, encoded: Encoded, *, workers: Workers = ALONE) -> list[Prediction]:
        """The prediction for each encoded example; `workers` share the sequences and all get the predictions.

        Raises NotFiniteError, on every worker, if an output of the model is not finite.
        """
        own = self._outputs(encoded, rank=workers.rank, world_size=workers.size)
        outputs: list[Any] = [None] * len(encoded)
        for rank, part in enumerate(workers.gather(own)):
            outputs[rank :: workers.size] = part
        if not all(map(is_finite, outputs)):
            raise NotFiniteError(self.place)
        return [
            self.task_type.inference.predict(each, self.settings, self.dtype) for each in encoded.by_example(outputs)
        ]

    def results(self, examples: Sequence[Any]) -> list[DecodedPrediction]:
        """The prediction for each example, with label names and texts; warns of empty texts."""
        results, counts = self.results_and_counts(examples)
        warn_empty("texts", counts["empty"], rows=len(examples))
        return results

    def results_and_counts(self, examples: Sequence[Any]) -> tuple[list[DecodedPrediction], Counter[str]]:
        """The prediction for each example, and how many are truncated or empty (`Encoded.text_counts`)."""
        if not examples:
            return [], Counter()
        encoded = self.encode(examples)
        return self.decode(self.predict_encoded(encoded), examples), encoded.text_counts

    def decode(self, predictions: Sequence[Prediction], examples: Sequence[Any]) -> list[DecodedPrediction]:
        """Predictions with label names and texts."""
        pairs = zip(predictions, examples, strict=True)
        return [self.task_type.inference.decode(each, example, self.labels, self.settings) for each, example in pairs]


def validate_no_threshold(task: str, given: float | None) -> None:
    """Raise ConfigError for a no-answer threshold of a model that always answers."""
    validate_not_given({"threshold": given}, f'a model for {task} never predicts "no answer"; remove this setting')


def warn_truncated(path: Path, truncated: int, *, rows: int, settings: InputSettings) -> None:
    """Warn of rows of a file that are longer than a model reads for its task."""
    if truncated:
        logger.warning(
            "%s: %d of %d rows are longer than %d tokens, the max_length of the fine-tuning, and were truncated",
            path,
            truncated,
            rows,
            settings.max_length,
        )


def average_predictions(members: Sequence[Sequence[Prediction]], task_type: TaskType) -> list[Prediction]:
    """The predictions of an ensemble; `members` have predictions for the same examples."""
    if not members or len({len(member) for member in members}) > 1:
        found = ", ".join(str(len(member)) for member in members) or "no member"
        raise ConfigError(f"ensemble: members must have predictions for the same examples; found {found}")
    return [task_type.inference.average(each) for each in zip(*members, strict=True)]


def with_labels(predictions: Sequence[Prediction], pipeline: TaskPipeline, labels: Sequence[str]) -> list[Prediction]:
    """The predictions of a pipeline with their labels in the order of `labels`."""
    if not pipeline.task_type.has_labels:
        return list(predictions)
    return [reorder_labels(each, labels, pipeline.labels) for each in predictions]
