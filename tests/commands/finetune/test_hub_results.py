"""The data set and the scores of a run under their names on the hub."""

from pathlib import Path

import pytest

from litebert.commands.finetune.data_settings import BenchmarkFiles, LabelledFiles
from litebert.commands.finetune.hub_results import OTHER_BENCHMARKS, HubDataset, hub_dataset, hub_results
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS
from litebert.tasks.benchmarks.hub_glue import HUB_LAYOUTS


def benchmark(task, **values):
    return BenchmarkFiles(task=task, directory=Path("GLUE"), **values)


def test_every_benchmark_with_training_data_has_its_data_set():
    trained = {name: task for name, task in BENCHMARKS.items() if "train" in task.splits}
    glue = {name for name, task in trained.items() if task.title in HUB_LAYOUTS}
    assert glue | OTHER_BENCHMARKS.keys() == trained.keys()
    assert not glue & OTHER_BENCHMARKS.keys()
    assert all(hub_dataset(benchmark(name), is_dev=True).split.startswith("validation") for name in trained)


@pytest.mark.parametrize(
    ("data", "dataset"),
    [
        (benchmark("cola"), HubDataset("CoLA", "nyu-mll/glue", "cola", "validation")),
        (benchmark("mnli"), HubDataset("MNLI", "nyu-mll/glue", "mnli", "validation_matched")),
        (
            benchmark("mnli", dev="dev-mismatched"),
            HubDataset("MNLI", "nyu-mll/glue", "mnli", "validation_mismatched"),
        ),
        (benchmark("race", dev="test"), HubDataset("RACE", "ehovy/race", "all", "test")),
        (benchmark("cola", split_files={"dev": "mine.tsv"}), HubDataset("mine.tsv", "csv", is_on_hub=False)),
        (LabelledFiles(train=Path("/home/me/a.csv.gz")), HubDataset("a.csv.gz", "csv", is_on_hub=False)),
        (LabelledFiles(train=Path("a.conll"), dev=Path("b.conll")), HubDataset("b.conll", "text", is_on_hub=False)),
        (
            LabelledFiles(train=Path("a.csv"), dev=Path("hf:owner/name/sub:test")),
            HubDataset("owner/name", "owner/name", "sub", "test"),
        ),
    ],
)
def test_development_examples_have_the_name_of_their_data_set(data, dataset):
    assert hub_dataset(data, is_dev=True) == dataset


def test_training_data_is_another_data_set_than_the_development_examples():
    data = LabelledFiles(train=Path("hf:owner/name"), dev=Path("mine.csv"))
    assert hub_dataset(data, is_dev=False) == HubDataset("owner/name", "owner/name")
    assert not hub_dataset(data, is_dev=True).is_on_hub


def test_saved_data_set_of_this_machine_is_not_on_the_hub(tmp_path):
    data = LabelledFiles(train=Path(f"hf:{tmp_path}"))
    assert hub_dataset(data, is_dev=False) == HubDataset(tmp_path.name, "text", is_on_hub=False)


def test_scores_have_the_names_of_the_hub_and_are_finite():
    scores = {"entity_f1": 0.25, "word_accuracy": 0.5, "my_metric": 2.0, "pearson": float("nan")}
    found = hub_results(HubDataset("a.csv", "csv"), scores, task="token-classification")
    assert [(each.metric_type, each.metric_name, each.metric_value) for each in found] == [
        ("f1", "entity_f1", 0.25),
        ("accuracy", "word_accuracy", 0.5),
        ("my_metric", "my_metric", 2.0),
    ]
