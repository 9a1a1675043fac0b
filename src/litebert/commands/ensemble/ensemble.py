"""Ensembles: the averaged predictions of several models, scored and written."""

import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from litebert.commands.benchmark_predictions import (
    submission_text,
    validate_submission_name,
)
from litebert.commands.data_arguments import SplitExamples
from litebert.commands.ensemble.ensemble_settings import EnsembleRun
from litebert.commands.model_arguments import set_threads
from litebert.commands.result import Result
from litebert.commands.row_files.input_file import InputFile, validate_output_directory
from litebert.commands.row_files.resumable_output import output_fingerprint, recorded_precisions
from litebert.commands.several_models.examples import (
    Examples,
    examples_of_file,
    examples_of_split,
    input_file,
    with_rows,
)
from litebert.commands.several_models.members import (
    Member,
    Predicted,
    averaged,
    ensemble_results,
    members_at,
    predict_members,
    validate_inputs,
    validate_label_order,
)
from litebert.device import usable_device
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.hub_datasets import is_dataset_name
from litebert.settings import InferencePrecision
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.encoded import warn_empty
from litebert.tasks.labelled_data import LabelledData, Task, group_of
from litebert.tasks.metrics.bootstrap_difference import BootstrapDifference, bootstrap_differences
from litebert.tasks.metrics.evaluation import Evaluation, Scored
from litebert.tasks.readers.columns import resolve_columns
from litebert.tasks.readers.hub_tables import hub_table
from litebert.tasks.readers.tables import iter_tables
from litebert.tasks.types.task_type import FileFormat

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class MemberScore:
    """The score of one model."""

    path: Path
    chosen: bool
    """Whether it is in the ensemble."""
    metrics: dict[str, float]
    gain: BootstrapDifference
    """Difference of the ensemble to it, in `EnsembleScore.metric`."""


@dataclass(frozen=True, kw_only=True)
class EnsembleScore:
    """The scores on labelled examples."""

    metric: str
    """The metric that selects members and that gains are measured in."""
    evaluation: Evaluation
    members: tuple[MemberScore, ...]
    """In the order of their paths."""
    median_member: Path
    """The model with the median score; the better one of two."""


@dataclass(frozen=True, kw_only=True)
class EnsembleResult(Result):
    """What an ensemble scored and wrote."""

    members: tuple[Path, ...]
    """The models whose predictions are averaged."""
    given: int
    """Number of models to select from."""
    examples: int
    score: EnsembleScore | None
    """None without labels."""
    output: Path | None
    """Where the predictions are."""

    def to_text(self) -> str:
        """The result as text."""
        lines = [] if self.score is None else _score_lines(self.score, len(self.members))
        if self.given > len(self.members) and self.score is not None:
            lines += [
                f"members selected by {self.score.metric} on this data: {' '.join(map(str, self.members))}",
                "The score therefore overestimates: evaluate the same members on other data.",
            ]
        if self.output is not None:
            lines.append(f"{self.output}: {self.examples:,} predictions written")
        return "\n".join(lines)


def _score_lines(score: EnsembleScore, count: int) -> list[str]:
    name = f"ensemble of {count}"
    width = max(len(name), *(len(str(member.path)) for member in score.members))
    lines = [f"{''.ljust(width)}  {score.metric}  gain of the ensemble"]
    for member in score.members:
        note = "" if member.chosen else ", not selected"
        note += ", median" if len(score.members) > 2 and member.path == score.median_member else ""
        value = f"{member.metrics[score.metric]:.4f}".rjust(len(score.metric))
        lines.append(f"{str(member.path).ljust(width)}  {value}  {member.gain.to_text()}{note}")
    value = f"{score.evaluation.metrics[score.metric]:.4f}".rjust(len(score.metric))
    return [*lines, f"{name.ljust(width)}  {value}", score.evaluation.to_text()]


def ensemble(run: EnsembleRun) -> EnsembleResult:
    """Average the members' predictions; score them if there are labels and write them if asked to."""
    set_threads(run.threads)
    given, members = run.source, members_at(run.members, run)
    if isinstance(given, SplitExamples):
        if run.out is not None:
            _validate_benchmark_output(run.out, given.split)
        return _in_memory(run, members, examples_of_split(members[0], given, metrics=run.metrics))
    source = input_file(members[0], given)
    if run.out is not None:
        if is_dataset_name(given.path):
            raise ConfigError(f"out: {given.path} is scored only; write its rows into a file to get their predictions")
        source.validate_output(run.out)
    unlabelled = _without_labels(members[0], source)
    if unlabelled is None:
        examples = examples_of_file(members[0], source, metrics=run.metrics, unlabelled_rows=run.unlabelled_rows)
        validate_label_order(members, examples.task)
        if run.out is not None:
            examples = with_rows(examples, source, run.out, members[0].task_type.inference.result)
        return _in_memory(run, members, examples)
    return _streamed(run, members, unlabelled)


def forward_selection(count: int, score: Callable[[Sequence[int]], float]) -> list[int]:
    """Indices of members: start with the best and add the one that helps most, while one helps.

    `score` is that of an ensemble of some indices; the first of equals is taken.
    Source: Caruana et al. (2004), without repetition.
    """
    chosen: list[int] = []
    best = -float("inf")
    while len(chosen) < count:
        scores = {index: score(sorted([*chosen, index])) for index in range(count) if index not in chosen}
        found = max(scores, key=scores.__getitem__)
        if scores[found] <= best:
            break
        chosen.append(found)
        best = scores[found]
    return sorted(chosen)


def _in_memory(run: EnsembleRun, members: Sequence[Member], given: Examples) -> EnsembleResult:
    """Predict all examples by one member after the other."""
    if given.task is None:
        _validate_unlabelled(run, given.data.path)
    predicted = predict_members(members, given.data.examples, labels=given.data.labels or ())
    score, chosen = None, list(range(len(members)))
    if given.task is not None and run.select == "forward":
        chosen = _forward_selected(predicted, given.task, given.data)
    whole = averaged([predicted[index] for index in chosen])
    if given.task is not None:
        scored = whole.score(given.task, given.data)
        whole = whole.with_metrics(scored.evaluation.metrics)
        singles = [averaged([each]).score(given.task, given.data) for each in predicted]
        paths, groups = [member.path for member in members], [group_of(example) for example in given.data.examples]
        score = _ensemble_score(given.task, paths, scored, singles, chosen, groups=groups)
    if run.out is not None:
        _write(run.out, given, whole)
    return EnsembleResult(
        members=tuple(members[index].path for index in chosen),
        given=len(members),
        examples=len(given.data.examples),
        score=score,
        output=run.out,
    )


def _forward_selected(predicted: Sequence[Predicted], task: Task, data: LabelledData) -> list[int]:
    """The members that forward selection chooses by the metric of the task."""

    def score(some: Sequence[int]) -> float:
        ensemble = averaged([predicted[index] for index in some])
        return ensemble.score(task, data).evaluation.metrics[task.metric_for_best_model]

    return forward_selection(len(predicted), score)


def _streamed(run: EnsembleRun, members: Sequence[Member], source: InputFile) -> EnsembleResult:
    """Predict an unlabelled file window by window, with all members in memory."""
    _validate_unlabelled(run, source.path)
    assert run.out is not None
    logger.info("%s: no labels; its rows are predicted, not scored", source.path)
    given = _precisions(run, members, source)
    pipelines = [member.with_precision(each).load() for member, each in zip(members, given, strict=True)]
    precisions = [each.precision for each in pipelines]
    written = source.predict_into(
        run.out,
        lambda examples: ensemble_results(pipelines, examples),
        result=pipelines[0].task_type.inference.result,
        models=[member.directory for member in members],
        settings=_settings(run, precisions),
        precisions=precisions,
        validate=lambda examples: validate_inputs(pipelines, examples),
    )
    if truncated := written.counts.get("truncated", 0):
        details = (source.path, truncated, written.rows)
        logger.warning("%s: at least %d of %d rows are longer than a member reads, and were truncated", *details)
    warn_empty(source.path, written.counts.get("empty", 0), rows=written.rows)
    paths = tuple(member.path for member in members)
    return EnsembleResult(members=paths, given=len(members), examples=written.rows, score=None, output=run.out)


def _precisions(run: EnsembleRun, members: Sequence[Member], source: InputFile) -> Sequence[InferencePrecision]:
    """The precision of each member; for `auto` that of the predictions which a stopped command has left.

    Measurements differ, and predictions in other precisions would be discarded.
    """
    given = [run.precision] * len(members)
    if run.precision != "auto" or run.out is None:
        return given
    out, directories = run.out, [member.directory for member in members]
    recorded = recorded_precisions(
        out,
        lambda found: output_fingerprint(source.path, out, directories, _settings(run, found)),
        models=len(members),
    )
    return recorded or given


def _settings(run: EnsembleRun, precisions: Sequence[InferencePrecision]) -> dict[str, Any]:
    """What the predictions depend on besides members and examples."""
    device = usable_device(run.device, run.precision)
    return {**run.model_dump(exclude={"members"}), "precision": list(precisions), "device": device}


def _validate_unlabelled(run: EnsembleRun, path: Path) -> None:
    if run.out is None:
        raise ConfigError(f"{path}: has no labels, so there is nothing to score; give --out for the predictions")
    if run.select != "all":
        raise ConfigError(f"select: {path} has no labels; select members on a development file")
    if run.unlabelled_rows != "error":
        raise ConfigError(f"unlabelled_rows: {path} has no labels, and all rows are predicted; leave it out")
    if run.metrics:
        raise ConfigError(f"metrics: {path} has no labels, so there is nothing to score; leave them out")


def _without_labels(member: Member, source: InputFile) -> InputFile | None:
    """`source`, if it has no labels: then no row may have one. Rows of a table are labelled if the first is."""
    if source.file_format is not None:
        return None if source.file_format.has_labels(source.path) else source
    is_hub = is_dataset_name(source.path)
    table = hub_table(source.path) if is_hub else next(iter_tables(source.path, rows_per_table=1))
    columns = resolve_columns(source.columns, source.saved, table)
    label = member.task_type.reader.label_column(table, columns)
    return None if label in table.columns else replace(source, absent_label=label)


def _validate_benchmark_output(out: Path, split: BenchmarkSplit) -> None:
    if benchmark_task(split.task).format == "squad":
        validate_output_directory(out, ".json")
    else:
        validate_submission_name(out, split.task)


def _write(out: Path, given: Examples, whole: Predicted) -> None:
    """Write the predictions as `predict` does."""
    results, source = whole.results(given.data.examples), given.source
    file_format: FileFormat | None = whole.task_type.reader.file_format
    if given.split is not None and benchmark_task(given.split.task).format != "squad":
        write_text(out, submission_text(given.split.task, given.data, results))
    elif source is not None and source.write_directory is None:
        output_format = source.output_format(out)
        write_text(out, f"{output_format.render(given.rows, results)}{output_format.finish()}")
    elif file_format is not None and file_format.write_directory is not None:
        file_format.write_directory(out, given.data.examples, results)


def _ensemble_score(
    task: Task,
    paths: Sequence[Path],
    scored: Scored,
    singles: Sequence[Scored],
    chosen: Sequence[int],
    *,
    groups: Sequence[Hashable],
) -> EnsembleScore:
    metric = task.metric_for_best_model
    gains = bootstrap_differences(
        metric,
        scored.predicted_for(metric),
        [each.predicted_for(metric) for each in singles],
        scored.targets,
        groups=groups,
    )
    order = sorted(range(len(singles)), key=lambda index: singles[index].evaluation.metrics[metric])
    return EnsembleScore(
        metric=metric,
        evaluation=scored.evaluation,
        members=tuple(
            MemberScore(path=path, chosen=index in chosen, metrics=single.evaluation.metrics, gain=gain)
            for index, (path, single, gain) in enumerate(zip(paths, singles, gains, strict=True))
        ),
        median_member=paths[order[len(order) // 2]],
    )
