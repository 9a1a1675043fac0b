"""Predictions for a split of GLUE or RACE, in the format of its leaderboard."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from litebert.errors import ConfigError
from litebert.model.io.default_labels import numbers_of
from litebert.tasks.benchmarks.benchmark_files import glue_file, race_file
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.results import LETTERS, DecodedPrediction

logger = logging.getLogger(__name__)


def validate_benchmark_model(
    name: str,
    task_type: str,
    labels: Sequence[str],
    *,
    model: Path,
    ordered: bool = False,
    numbers: bool = False,
) -> None:
    """Raise ConfigError unless a model has the task type and the labels of a benchmark, `ordered` or in any order.

    With `numbers`, labels without names (LABEL_0) are those of a benchmark whose labels are numbers, such as SST-2.
    """
    benchmark = benchmark_task(name)
    expected = benchmark.labels or ()
    # A model without a head for labels has no names for them.
    same = not labels or tuple(labels) == expected or (set(labels) == set(expected) and not ordered)
    same |= numbers and numbers_of(labels) == expected
    if task_type == benchmark.task_type and len(labels) == len(expected) and numbers_of(labels) and not same:
        raise ConfigError(
            f"{model}: its labels have no names ({', '.join(labels)}), those of {benchmark.title} are "
            f"{', '.join(expected)}; name them in its config.json, id2label and label2id, in the order of its training"
        )
    if task_type != benchmark.task_type or (expected and not same):
        raise ConfigError(
            f"{model}: its task is {task_type}{_labels(labels)}, that of {benchmark.title} is {benchmark.task_type}"
            f"{_labels(expected)}; give a model that was fine-tuned on it"
        )


def _labels(labels: Sequence[str]) -> str:
    return f" with labels {', '.join(labels)}" if labels else ""


def validate_submission_name(output: Path, task: str) -> None:
    """Raise ConfigError unless the suffix of `output` is that of the benchmark's submission files."""
    suffix = ".json" if benchmark_task(task).format == "race" else ".tsv"
    if output.suffix != suffix:
        raise ConfigError(f"output: {output.name!r}, but predictions for {task} are a {suffix} file; rename it")


def submission_text(task: str, data: LabelledData, results: Sequence[DecodedPrediction]) -> str:
    """The content of the submission file; examples without an id, as in development files, get their position.

    Scores for the leaderboard are clipped to the range that it accepts; those of labelled examples stay as they are.
    """
    render = race_file if benchmark_task(task).format == "race" else glue_file
    examples = [
        each if each.id is not None else replace(each, id=str(index)) for index, each in enumerate(data.examples)
    ]
    predictions = [_prediction(result) for result in results]
    return render(examples, predictions if data.has_labels else _clipped(task, predictions))


def _clipped(task: str, predictions: Sequence[Any]) -> Sequence[Any]:
    """The predictions, with scores outside the range of the benchmark at its bounds."""
    if (allowed := benchmark_task(task).score_range) is None:
        return predictions
    low, high = allowed
    clipped = [min(max(each, low), high) for each in predictions]
    if changed := sum(one != other for one, other in zip(predictions, clipped, strict=True)):
        logger.info(
            "%s: clipped %d of %d scores to %g to %g, which the leaderboard accepts",
            task,
            changed,
            len(clipped),
            low,
            high,
        )
    return clipped


def correct_share(data: LabelledData, results: Sequence[DecodedPrediction]) -> float | None:
    """The accuracy of label predictions; None for scores, and without labels."""
    targets = [example.target for example in data.examples]
    if not all(isinstance(target, int) for target in targets):
        return None
    names = data.labels or LETTERS
    return sum(names[target] == _prediction(each) for target, each in zip(targets, results, strict=True)) / len(results)


def _prediction(result: DecodedPrediction) -> Any:
    return result.to_record()["prediction"]
