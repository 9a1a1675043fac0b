"""How much better some fine-tuned models are than others, on the same examples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from litebert.commands.compare.compare_settings import CompareRun
from litebert.commands.ensemble.examples import Examples, examples_of_benchmark, examples_of_file, source_of
from litebert.commands.ensemble.members import (
    Member,
    common_precision,
    members_at,
    predict_members,
    validate_label_order,
)
from litebert.commands.model_arguments import set_threads
from litebert.commands.result import Result
from litebert.errors import ConfigError
from litebert.settings import DeviceName, InferencePrecision
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.bootstrap_difference import BootstrapDifference, bootstrap_difference_of_means
from litebert.tasks.types.task_type import Scored


@dataclass(frozen=True)
class MetricDifference:
    """The scores of both groups in one metric."""

    models: tuple[float, ...]
    """One score for each model of the first group."""
    baseline: tuple[float, ...]
    """Of the second group."""
    difference: BootstrapDifference
    """Mean of the first minus mean of the second."""


@dataclass(frozen=True)
class CompareResult(Result):
    """The difference of two groups of models."""

    examples: int
    metrics: dict[str, MetricDifference]

    def to_text(self) -> str:
        """Three lines for each metric."""
        lines = []
        for name, found in self.metrics.items():
            lines += [
                f"{name} on {self.examples:,} examples",
                f"  models      {_mean_of(found.models)}",
                f"  baseline    {_mean_of(found.baseline)}",
                f"  difference {found.difference.to_text()}",
            ]
        return "\n".join(lines)


def compare(run: CompareRun) -> CompareResult:
    """Score both groups on the same labelled examples."""
    set_threads(run.threads)
    members = {member.path: member for member in members_at([*run.models, *run.baseline])}
    models, baseline = ([members[Path(source)] for source in group] for group in (run.models, run.baseline))
    given = _examples(run, models[0])
    if given.task is None:
        raise ConfigError(f"{given.data.path}: has no labels, so there is nothing to score; give labelled examples")
    validate_label_order(tuple(members.values()), given.task)
    options = {"precision": run.precision, "device": run.device}
    return difference_between(models, baseline, given.data, given.task, **options)


def difference_between(
    models: Sequence[Member],
    baseline: Sequence[Member],
    data: LabelledData,
    task: Task,
    *,
    precision: InferencePrecision = "fp32",
    device: DeviceName = "auto",
) -> CompareResult:
    """The same for models and examples that are found already."""
    options = {"precision": precision, "device": device}
    ((_, result),) = differences_from(models, {"baseline": baseline}, data, task, **options)
    return result


def differences_from(
    models: Sequence[Member],
    baselines: Mapping[str, Sequence[Member]],
    data: LabelledData,
    task: Task,
    *,
    precision: InferencePrecision = "fp32",
    device: DeviceName = "auto",
) -> Iterator[tuple[str, CompareResult]]:
    """The same for several groups of other models, by name, one after the other; each model predicts once."""
    options = {"labels": data.labels or (), "precision": common_precision(models, precision, device), "device": device}

    def scored(members: Sequence[Member]) -> list[Scored]:
        return [each.score(task, data) for each in predict_members(members, data.examples, **options)]

    first = scored(models)
    for name, members in baselines.items():
        other = scored(members)
        metrics = {metric: _difference(metric, first, other) for metric in task.metrics}
        yield name, CompareResult(len(data.examples), metrics)


def _difference(metric: str, models: Sequence[Scored], baseline: Sequence[Scored]) -> MetricDifference:
    first, second = ([each.predicted_for(metric) for each in group] for group in (models, baseline))
    difference = bootstrap_difference_of_means(metric, first, second, models[0].targets)
    return MetricDifference(_scores(metric, models), _scores(metric, baseline), difference)


def _scores(metric: str, group: Sequence[Scored]) -> tuple[float, ...]:
    return tuple(each.evaluation.metrics[metric] for each in group)


def _examples(run: CompareRun, first: Member) -> Examples:
    split = run.benchmark_split
    if split is not None and run.task_dir is not None:
        return examples_of_benchmark(first, split, run.task_dir, metrics=run.metrics)
    assert run.data is not None
    source = source_of(first, run, run.data)
    return examples_of_file(first, source, metrics=run.metrics, unlabelled_rows=run.unlabelled_rows)


def _mean_of(scores: Sequence[float]) -> str:
    """`0.6110, mean of 2 (0.6140, 0.6080)`."""
    if len(scores) == 1:
        return f"{scores[0]:.4f}"
    return f"{fmean(scores):.4f}, mean of {len(scores)} ({', '.join(f'{score:.4f}' for score in scores)})"
