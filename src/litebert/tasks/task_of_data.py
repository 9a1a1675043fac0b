"""The task that some data was read for: its columns, labels and metrics."""

from collections.abc import Sequence

from litebert.tasks.benchmarks.benchmarks import BenchmarkTask
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.metrics import check_metrics
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.registry import get_task_type


def task_for(data: LabelledData, columns: Columns, metrics: Sequence[str] = ()) -> Task:
    """The task of some data. Without `metrics`, those of its task type."""
    task_type = get_task_type(data.task_type)
    pair = columns.text_pair or data.text_pair
    names = tuple(metrics) or task_type.default_metrics(data.labels)
    check_metrics(names, applicable=task_type.all_metrics, num_labels=len(data.labels or ()))
    return Task(
        task_type=data.task_type,
        text=(columns.text_name, *([pair] if pair else [])),
        label=columns.label_name,
        options=columns.options,
        labels=data.labels,
        metrics=names,
        metric_for_best_model=names[0],
    )


def task_of_benchmark(benchmark: BenchmarkTask, data: LabelledData, metrics: Sequence[str] = ()) -> Task:
    """The task of a benchmark. Without `metrics`, those of its leaderboard."""
    columns = Columns(text=benchmark.text, text_pair=benchmark.text_pair, label=benchmark.label)
    return task_for(data, columns, metrics or benchmark.metrics)
