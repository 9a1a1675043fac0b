"""How much better some fine-tuned models or prediction files are than others, on the same examples."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean

from litebert.commands.compare.compare_settings import CompareRun
from litebert.commands.data_arguments import SplitExamples
from litebert.commands.model_arguments import set_threads
from litebert.commands.prediction_files.scored_examples import ScoredExamples, table_of
from litebert.commands.result import Result
from litebert.commands.several_models.examples import Examples, examples_of_file, examples_of_split, input_file
from litebert.commands.several_models.members import (
    Member,
    members_at,
    predict_members,
    validate_label_order,
    with_measured_precision,
)
from litebert.errors import ConfigError
from litebert.tasks.labelled_data import LabelledData, Task, group_of
from litebert.tasks.metrics.bootstrap_difference import (
    BootstrapDifference,
    bootstrap_difference_of_means,
    number_of_groups,
)
from litebert.tasks.metrics.evaluation import Scored
from litebert.tasks.prediction_files.prediction_rows import is_prediction_file
from litebert.tasks.scored_predictions import FilePredictions, left_out_note, without_unscored

Compared = Member | FilePredictions
"""A model that predicts, or predictions of a file."""


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
    left_out: tuple[str, ...] = ()
    """Metrics that need probabilities, which a prediction file lacks."""
    groups: int | None = None
    """Groups of examples that are resampled together, such as those about one passage; None: each example alone."""

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
        if self.groups is not None:
            lines.append(f"resampled in {self.groups:,} groups of examples, such as those about one text")
        return "\n".join([*lines, *left_out_note(self.left_out)])


def compare(run: CompareRun) -> CompareResult:
    """Score both groups on the same labelled examples."""
    set_threads(run.threads)
    sources = [*run.models, *run.baseline]
    named, paths = [each for each in sources if not is_prediction_file(each)], filter(is_prediction_file, sources)
    members = {member.path: member for member in members_at(named, run)} if named else {}
    given = _examples_of_models(run, members[Path(named[0])]) if named else _examples(run)
    validate_label_order(tuple(members.values()), given.task)
    files = {Path(each): given.predictions(Path(each)) for each in paths}
    task, left_out = without_unscored(given.task, tuple(files.values()))
    models, baseline = ([{**members, **files}[Path(each)] for each in group] for group in (run.models, run.baseline))
    return replace(difference_between(models, baseline, given.data, task), left_out=left_out)


def difference_between(
    models: Sequence[Compared], baseline: Sequence[Compared], data: LabelledData, task: Task
) -> CompareResult:
    """The same for models and examples that are found already."""
    ((_, result),) = differences_from(models, {"baseline": baseline}, data, task)
    return result


def differences_from(
    models: Sequence[Compared],
    baselines: Mapping[str, Sequence[Compared]],
    data: LabelledData,
    task: Task,
) -> Iterator[tuple[str, CompareResult]]:
    """The same for several groups of other models, by name, one after the other; each model predicts once."""
    members = _members([*models, *chain.from_iterable(baselines.values())])
    found = {each.path: each for each in with_measured_precision(members)}

    def scored(group: Sequence[Compared]) -> list[Scored]:
        own = [found[each.path] for each in _members(group)]
        predicted = iter(predict_members(own, data.examples, labels=data.labels or ()) if own else ())
        return [(next(predicted) if isinstance(each, Member) else each).score(task, data) for each in group]

    groups = [group_of(example) for example in data.examples]
    drawn = number_of_groups(groups)
    first = scored(models)
    for name, members in baselines.items():
        other = scored(members)
        metrics = {metric: _difference(metric, first, other, groups) for metric in task.metrics}
        yield name, CompareResult(len(groups), metrics, groups=drawn if drawn < len(groups) else None)


def _difference(
    metric: str, models: Sequence[Scored], baseline: Sequence[Scored], groups: Sequence[Hashable]
) -> MetricDifference:
    first, second = ([each.predicted_for(metric) for each in group] for group in (models, baseline))
    difference = bootstrap_difference_of_means(metric, first, second, models[0].targets, groups=groups)
    return MetricDifference(_scores(metric, models), _scores(metric, baseline), difference)


def _scores(metric: str, group: Sequence[Scored]) -> tuple[float, ...]:
    return tuple(each.evaluation.metrics[metric] for each in group)


def _members(group: Sequence[Compared]) -> list[Member]:
    return [each for each in group if isinstance(each, Member)]


def _examples_of_models(run: CompareRun, first: Member) -> ScoredExamples:
    """The examples as the first model reads them."""
    found = _read_by(run, first)
    data, saved = found.data, None if found.source is None else found.source.saved
    if found.task is None:
        raise ConfigError(f"{data.path}: has no labels, so there is nothing to score; give labelled examples")
    label = run.columns.label or (saved.label if saved else None) or found.task.label
    only_models = not any(map(is_prediction_file, (*run.models, *run.baseline)))
    table = None if found.source is None or only_models else table_of(data.path, data.task_type)
    return ScoredExamples(data, found.task, label, table)


def _read_by(run: CompareRun, first: Member) -> Examples:
    given = run.source
    if isinstance(given, SplitExamples):
        return examples_of_split(first, given, metrics=run.metrics)
    source = input_file(first, given)
    return examples_of_file(first, source, metrics=run.metrics, unlabelled_rows=run.unlabelled_rows)


def _examples(run: CompareRun) -> ScoredExamples:
    """The examples where there are only prediction files."""
    given = run.source
    if isinstance(given, SplitExamples):
        return ScoredExamples.of_split(given.split, given.directory, metrics=run.metrics)
    files = tuple(map(Path, (*run.models, *run.baseline)))
    options = {"metrics": run.metrics, "unlabelled_rows": run.unlabelled_rows}
    return ScoredExamples.of_file(given.path, given.columns, run, files=files, **options)


def _mean_of(scores: Sequence[float]) -> str:
    """`0.6110, mean of 2 (0.6140, 0.6080)`."""
    if len(scores) == 1:
        return f"{scores[0]:.4f}"
    return f"{fmean(scores):.4f}, mean of {len(scores)} ({', '.join(f'{score:.4f}' for score in scores)})"
