"""The published tasks, against their published files where those are at hand."""

import os
from pathlib import Path

import pytest

from litebert.errors import ConfigError
from litebert.tasks.benchmarks.benchmark_files import read_official
from litebert.tasks.benchmarks.benchmarks import TASKS, official_task
from litebert.tasks.benchmarks.glue_score import GLUE
from litebert.tasks.metrics.metrics import METRICS
from litebert.tasks.types.registry import KINDS

PUBLISHED = os.environ.get("LITEBERT_TEST_DATA")
"""Directory that holds `glue` and `RACE`."""
PARTS = [(name, part) for name, task in TASKS.items() if task.format in ("tsv", "race") for part in task.parts]


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.format in ("tsv", "race")])
def test_a_row_fits_its_kind(name):
    task = TASKS[name]
    assert task.kind in KINDS
    assert all(task.kind in METRICS[metric].kinds for metric in task.metrics)
    assert (task.labels is not None) == (task.kind == "classification")


def test_every_task_of_the_leaderboard_is_there_with_its_metrics():
    for name, metrics in GLUE.items():
        assert {metric.removesuffix("-mismatched") for metric in metrics} <= set(TASKS[name].metrics)


def test_every_file_that_the_leaderboard_takes_comes_from_one_part():
    names = [part.submitted_as for task in TASKS.values() for part in task.parts.values() if part.submitted_as]
    glue = "AX CoLA MNLI-m MNLI-mm MRPC QNLI QQP RTE SST-2 STS-B WNLI"
    assert sorted(names) == [f"{name}.tsv" for name in glue.split()]


def test_an_unknown_task_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r"unknown task 'sst2' \(did you mean 'sst-2'\?\)"):
        official_task("sst2")


@pytest.mark.parametrize(("name", "part"), PARTS, ids=lambda value: str(value))
def test_the_published_file_has_the_published_number_of_rows(name, part):
    if PUBLISHED is None:
        pytest.skip("LITEBERT_TEST_DATA names no directory of published files")
    task = TASKS[name]
    root = Path(PUBLISHED) if task.format == "race" else Path(PUBLISHED) / "glue"
    if not (root / task.folders[0] / task.parts[part].file).exists():
        pytest.skip(f"{task.folders[0]}/{task.parts[part].file} is not there")
    assert len(read_official(name, root, part).examples) == task.parts[part].rows


def test_the_page_about_tasks_says_what_the_catalogue_says():
    page = (Path(__file__).parents[3] / "docs" / "tasks.md").read_text(encoding="utf-8")
    for name, task in TASKS.items():
        if task.format in ("tsv", "race"):
            rows = ", ".join(f"{part} {file.rows:,}" for part, file in task.parts.items())
            assert f"| `{name}` | {task.kind.replace('_', ' ')} | {rows} | {', '.join(task.metrics)} |" in page
