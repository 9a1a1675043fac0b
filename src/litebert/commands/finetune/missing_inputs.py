"""Files that a new fine-tuning run would not find: reported before torch is imported."""

from pathlib import Path

from litebert.commands.finetune.finetune_settings import BenchmarkFiles, FinetuneRun, LabelledFiles
from litebert.errors import DataError
from litebert.files import RUN_SETTINGS
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit


def validate_inputs_exist(run: FinetuneRun, out: Path) -> None:
    """Raise DataError if a file of the data is missing; the run in `out` may be finished and need none."""
    if (out / RUN_SETTINGS).exists():
        return
    if isinstance(run.data, LabelledFiles):
        _validate_files(run.data)
    else:
        _validate_splits(run.data)


def _validate_files(data: LabelledFiles) -> None:
    for file in (data.train, data.dev):
        if isinstance(file, Path) and not is_dataset_name(file) and not file.exists():
            raise DataError(f"{file}: no such file; check the path")


def _validate_splits(data: BenchmarkFiles) -> None:
    for split in ("train", data.dev):
        BenchmarkSplit(task=data.task, split=split, file=data.split_files.get(split)).path(data.directory)
