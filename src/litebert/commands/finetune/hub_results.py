"""Data set and scores of a fine-tuned model as the Hugging Face hub names them, for the front matter of its card."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from huggingface_hub import EvalResult

from litebert.commands.finetune.data_settings import BenchmarkFiles, LabelledFiles
from litebert.hub_datasets import DatasetName, is_dataset_name
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.benchmarks.hub_glue import GLUE, HUB_LAYOUTS
from litebert.tasks.readers.text_files import format_ending

OTHER_BENCHMARKS: Final = {
    "race": ("ehovy/race", "all"),
    "race-middle": ("ehovy/race", "middle"),
    "race-high": ("ehovy/race", "high"),
    "squad-v1.1": ("rajpurkar/squad", None),
    "squad-v2.0": ("rajpurkar/squad_v2", None),
}
"""Benchmark outside GLUE → its data set on the hub, and the configuration of it."""
_METRICS: Final = {
    "matthews": "matthews_correlation",
    "pearson": "pearsonr",
    "spearman": "spearmanr",
    **dict.fromkeys(("macro_f1", "micro_f1", "weighted_f1", "sample_f1", "entity_f1", "answer_f1"), "f1"),
    **dict.fromkeys(("macro_precision", "entity_precision"), "precision"),
    **dict.fromkeys(("macro_recall", "entity_recall"), "recall"),
    **dict.fromkeys(("subset_accuracy", "word_accuracy"), "accuracy"),
}
"""Metric → what the hub calls it or its kind; others have the same name."""
_LOADERS: Final = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".json": "json", ".parquet": "parquet"}
"""Ending of a file → the loader of `datasets`, which stands for a data set that is not on the hub."""


class HubDataset(NamedTuple):
    """A data set of a run."""

    name: str
    """For people."""
    type: str
    """Its name on the hub, or the loader of `datasets` for a file."""
    config: str | None = None
    split: str | None = None
    is_on_hub: bool = True


def hub_dataset(data: LabelledFiles | BenchmarkFiles, *, is_dev: bool) -> HubDataset:
    """The data set of the development examples of a run, or that of the training examples."""
    if isinstance(data, LabelledFiles):
        return _of_file(data.dev if is_dev and isinstance(data.dev, Path) else data.train)
    split = data.dev if is_dev else "train"
    if own := data.split_files.get(split):
        return _of_file(Path(own))
    title = benchmark_task(data.task).title
    if layout := HUB_LAYOUTS.get(title):
        return HubDataset(title, GLUE, layout.folder, layout.splits[split])
    name, config = OTHER_BENCHMARKS[data.task]
    return HubDataset(title, name, config, "validation" if split == "dev" else split)


def _of_file(file: Path) -> HubDataset:
    if is_dataset_name(file):
        dataset = DatasetName.parse(file)
        if not Path(dataset.path).exists():
            return HubDataset(dataset.path, dataset.path, dataset.config, dataset.split)
    return HubDataset(file.name, _LOADERS.get(format_ending(file), "text"), is_on_hub=False)


def hub_results(dataset: HubDataset, scores: Mapping[str, float], *, task: str) -> tuple[EvalResult, ...]:
    """The scores on the development examples; `task` is the pipeline tag.

    Scores that are not finite are left out.
    """
    return tuple(
        EvalResult(
            task_type=task,
            dataset_type=dataset.type,
            dataset_name=dataset.name,
            dataset_config=dataset.config,
            dataset_split=dataset.split,
            metric_type=_METRICS.get(name, name),
            metric_name=name,
            metric_value=value,
        )
        for name, value in scores.items()
        if math.isfinite(value)
    )
