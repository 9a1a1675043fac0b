"""The labelled data of a run, and the task they are. Before: settings. After: `finetune`, `evaluate_labelled`."""

from litebert.commands.finetune.finetune_settings import FinetuneRun, HeldOutRows, LabelledFiles
from litebert.commands.finetune.labelled_set import task_of
from litebert.tasks.benchmarks.benchmark_files import read_official
from litebert.tasks.benchmarks.benchmarks import BenchmarkTask, official_task
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.data_checks import mention_few, mention_shared
from litebert.tasks.readers.read_labelled import read_labelled
from litebert.tasks.readers.splits import hold_out
from litebert.tasks.task_type import Task


def read_data(run: FinetuneRun) -> tuple[Task, LabelledData, LabelledData]:
    """(task, training examples, development examples); both have the same labels."""
    data = run.data
    if isinstance(data, LabelledFiles):
        train, dev = _own(data)
        names = data.columns.names()
        task = task_of(train, (names.text, names.text_pair), names.label, run.metrics)
    else:
        train = read_official(data.task, data.directory, "train", files=data.files)
        dev = read_official(data.task, data.directory, data.dev, files=data.files)
        task = task_from(official_task(data.task), train, run.metrics)
    mention_few(train, batch_size=run.batch_size)
    mention_shared(train, dev)
    return task, train, dev


def task_from(row: BenchmarkTask, data: LabelledData, metrics: tuple[str, ...]) -> Task:
    """The task of a row of the catalogue."""
    return task_of(data, (row.text, row.text_pair), row.label, metrics or row.metrics)


def _own(files: LabelledFiles) -> tuple[LabelledData, LabelledData]:
    train = read_labelled(files.train, files.columns, kind=files.kind, invalid_answers=files.invalid_answers)
    if isinstance(files.dev, HeldOutRows):
        return hold_out(train, files.dev.fraction, seed=files.dev.seed)
    dev = read_labelled(
        files.dev, files.columns, kind=train.kind, labels=train.labels, invalid_answers=files.invalid_answers
    )
    return train, dev
