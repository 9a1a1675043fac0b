"""The task and the examples of a fine-tuning run."""

from dataclasses import dataclass, replace

from litebert.commands.finetune.data_settings import BenchmarkFiles, DevSplit, LabelledFiles
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import DataError
from litebert.tasks.benchmarks.benchmark_files import read_benchmark
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.readers.splits import train_dev_split, warn_small_dataset, warn_train_dev_leakage
from litebert.tasks.task_of_data import task_for, task_of_benchmark
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.task_type import ReadOptions


@dataclass(frozen=True)
class RunData:
    """The examples of a run; both parts have the same labels."""

    task: Task
    train: LabelledData
    dev: LabelledData
    selection: str
    """Where the development examples come from, in words."""
    is_split: bool
    """Whether the development examples were held out from the training file."""

    @property
    def fingerprints(self) -> dict[str, str]:
        """That of the rows of each part."""
        return {"train": self.train.fingerprint, "dev": self.dev.fingerprint}


def read_data(run: FinetuneRun) -> RunData:
    """The task and its examples, with warnings about them."""
    data = read_examples(run)
    warn_small_dataset(data.train, batch_size=run.batch_size)
    warn_train_dev_leakage(data.train, data.dev)
    return data


def read_examples(run: FinetuneRun) -> RunData:
    """The task and its examples."""
    data = run.data
    if isinstance(data, LabelledFiles):
        train, dev = _read_files(data, run.metrics)
        task = task_for(train, data.columns, run.metrics)
    else:
        train = read_benchmark(data.task, data.directory, "train", files=data.split_files)
        dev = read_benchmark(data.task, data.directory, data.dev, files=data.split_files)
        if not dev.has_labels:
            raise DataError(f"{dev.path}: has no labels, so it selects no model; choose another split (data.dev)")
        task = task_of_benchmark(benchmark_task(data.task), train, run.metrics)
    is_split = isinstance(data, LabelledFiles) and isinstance(data.dev, DevSplit)
    return RunData(task, train, dev, _selection(data), is_split)


def _selection(data: LabelledFiles | BenchmarkFiles) -> str:
    if isinstance(data, BenchmarkFiles):
        return f"the split {data.dev} of {data.task}"
    if isinstance(data.dev, DevSplit):
        return f"{data.dev.fraction:.0%} of the rows of {data.train.name}, held out with seed {data.dev.seed}"
    return data.dev.name


def _read_files(files: LabelledFiles, metrics: tuple[str, ...]) -> tuple[LabelledData, LabelledData]:
    options = ReadOptions(
        task_type=files.task_type, invalid_answers=files.invalid_answers, unlabelled_rows=files.unlabelled_rows
    )
    in_training = replace(options, soft_labels=True)
    train = read_labelled(files.train, files.columns, options=in_training, default_pair=True)
    if isinstance(files.dev, DevSplit):
        strata = get_task_type(train.task_type).strata
        return train_dev_split(train, files.dev.fraction, seed=files.dev.seed, strata=strata(train) if strata else None)
    like_train = replace(options, task_type=train.task_type, labels=train.labels)
    # As a model of the training file reads it, so that both have pairs, or neither.
    saves_columns = get_task_type(train.task_type).reader.saves_columns
    saved = SavedTask.of(task_for(train, files.columns, metrics), with_columns=saves_columns)
    return train, read_labelled(files.dev, files.columns, saved=saved, options=like_train)
