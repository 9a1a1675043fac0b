"""A fine-tuned model directory scored on labelled files. Before: a model directory. After: the verb `evaluate`."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from litebert.commands.evaluate.report_page import report_page
from litebert.commands.finetune.finetune_data import task_from
from litebert.commands.finetune.labelled_set import LabelledSet, task_of
from litebert.commands.result import Result
from litebert.errors import ConfigError, DataError
from litebert.files import write_text
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.tasks.benchmarks.benchmark_files import has_labels, parts_there, read_official
from litebert.tasks.benchmarks.benchmarks import BenchmarkTask, Split, official_task
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.readers.columns import Columns, SavedColumns, validate_no_columns
from litebert.tasks.readers.read_labelled import read_labelled
from litebert.tasks.task_type import Task
from litebert.tasks.types.question_settings import stored_settings
from litebert.tasks.types.registry import KINDS, encode_for, kind_of
from litebert.tasks.types.span_evaluation import THRESHOLD
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OfficialEvaluation(Result):
    """What a model scored on the development parts of a published task."""

    parts: dict[str, Evaluation]

    def to_text(self) -> str:
        """A line for each part, and its slices below."""
        return "\n".join(f"{name}: {evaluation.to_text()}" for name, evaluation in self.parts.items())


def evaluate_labelled(
    model: Path, file: Path, columns: Columns | None = None, *, metrics: Sequence[str] = (), report: Path | None = None
) -> Evaluation:
    """Score a fine-tuned model directory on a labelled file; the labels are those of the model.

    `report` is an HTML page to write: the figures, where they come from, and the worst errors.
    """
    columns = columns or Columns()
    validate_no_columns(asdict(columns), file)
    names = columns.names()
    description = read_model_spec(model)
    kind = kind_of(description, where=str(model))
    labels = None if kind == "regression" else description.labels or None
    data = read_labelled(file, columns, kind=kind, labels=labels, kept=SavedColumns.stored(model))
    task = task_of(data, (names.text, names.text_pair), names.label, metrics)
    return _scored(model, task, data, report)


def evaluate_official(
    model: Path,
    name: str,
    directory: Path,
    *,
    files: Mapping[Split, str] | None = None,
    metrics: Sequence[str] = (),
    report: Path | None = None,
) -> OfficialEvaluation:
    """Score a fine-tuned model directory on a published task: on the development parts that are in `directory`.

    `files` are names of other files than the official ones, laid out as those; then their parts alone are scored.
    """
    labels = _labels_for(model, official_task(name))
    there = tuple(files or ()) or _development_parts(name, directory)
    parts: dict[str, Evaluation] = {}
    for part in there:
        data = _labelled(read_official(name, directory, part, files=files, labels=labels))
        page = report and report.with_stem(f"{report.stem}-{part}" if len(there) > 1 else report.stem)
        parts[part] = _scored(model, task_from(official_task(name), data, tuple(metrics)), data, page)
    return OfficialEvaluation(parts)


def _labels_for(model: Path, row: BenchmarkTask) -> tuple[str, ...] | None:
    """The labels of a model in its order, None for a task without; ConfigError if it answers something else."""
    description = read_model_spec(model)
    kind = kind_of(description, where=str(model))
    if kind != row.kind or not _same_labels(row, description.labels):
        raise ConfigError(
            f"{model}: answers {kind} with labels {', '.join(description.labels)}, but {row.title} is {row.kind} "
            f"with {', '.join(row.labels or ())}; give a model that was fine-tuned on it"
        )
    return description.labels if row.labels else None


def _same_labels(row: BenchmarkTask, labels: tuple[str, ...]) -> bool:
    """Whether a model answers the labels of a task, in any order that leaves its metrics what they are."""
    in_order = labels == row.labels
    return row.labels is None or in_order or (set(labels) == set(row.labels) and "f1" not in row.metrics)


def _development_parts(name: str, directory: Path) -> tuple[Split, ...]:
    row = official_task(name)
    there = parts_there(name, directory, start="dev")
    if not there:
        raise DataError(f"{directory}: no development part of {row.title}; give the directory with {row.folders[0]!r}")
    return there


def _labelled(data: LabelledData) -> LabelledData:
    if not has_labels(data):
        raise DataError(f"{data.path}: has no labels to score by; give a part that has, or answer it by `predict`")
    return data


def _scored(model: Path, task: Task, data: LabelledData, report: Path | None) -> Evaluation:
    description = read_model_spec(model)
    tokenizer = Tokenizer.load(model)
    encode = encode_for(model, task.kind)
    longest = description.config.max_position_embeddings
    rows = LabelledSet(task, data, encode(data.examples, tokenizer, max_length=longest))
    world = DistributedContext.current()
    outputs = rows.outputs(load_model(model).to(world.device), world=world)
    given: tuple[Any, ...] = (task, outputs, data, rows.encoded)
    evaluation = KINDS[task.kind].evaluate(*given)
    if THRESHOLD in evaluation.metrics:
        is_kept = stored_settings(model, longest=longest).no_answer_threshold is not None
        source = "kept with the model" if is_kept else "the best for the F1 of these very rows"
        logger.info("%s: no-answer threshold %.4f, %s", model, evaluation.metrics[THRESHOLD], source)
    if report:
        write_text(report, report_page(f"{model} on {data.path}", evaluation, KINDS[task.kind].judge(*given)))
        logger.info("%s: written", report)
    return evaluation
