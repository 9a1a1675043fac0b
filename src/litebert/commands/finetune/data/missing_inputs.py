"""Files that a new fine-tuning run would not find: reported before torch is imported."""

from pathlib import Path

from litebert.commands.finetune.data_settings import BenchmarkFiles, LabelledFiles
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import DataError
from litebert.files import RUN_SETTINGS
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit


def validate_inputs_exist(run: FinetuneRun, out: Path) -> None:
    """Raise DataError if a file of the data is missing; the run in `out` may be finished and need none."""
    if not (out / RUN_SETTINGS).exists():
        validate_local_files(run.data)


def validate_local_files(data: LabelledFiles | BenchmarkFiles) -> None:
    """Raise DataError if a file does not exist; data sets of the hub are not looked for."""
    if isinstance(data, BenchmarkFiles):
        for split in ("train", data.dev):
            BenchmarkSplit(task=data.task, split=split, file=data.split_files.get(split)).path(data.directory)
        return
    for file in (data.train, data.dev):
        if isinstance(file, Path) and not is_dataset_name(file) and not file.exists():
            raise DataError(f"{file}: no such file; check the path")
