"""The published tasks, against their published files where those are at hand."""

import json
import os
from pathlib import Path

import pytest

from litebert.errors import ConfigError
from litebert.tasks.benchmarks.benchmark_files import read_benchmark
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS, benchmark_task
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns, SavedTask
from litebert.tasks.task_of_data import task_of_benchmark
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.task_type import ReadOptions
from support.data.benchmark_files import write_race

PUBLISHED = os.environ.get("LITEBERT_TEST_DATA")
"""Directory that holds `glue` and `RACE`."""
SPLITS = [(name, split) for name, task in BENCHMARKS.items() if task.format in ("tsv", "race") for split in task.splits]


@pytest.mark.parametrize("name", [name for name, task in BENCHMARKS.items() if task.format in ("tsv", "race")])
def test_benchmark_metrics_fit_its_task_type(name):
    task = BENCHMARKS[name]
    assert set(task.metrics) <= set(get_task_type(task.task_type).all_metrics)
    assert (task.labels is not None) == (task.task_type == "classification")


def test_model_of_race_reads_tables_with_the_usual_columns(tmp_path):
    data = read_benchmark("race-middle", write_race(tmp_path / "race"), "train")
    saved = SavedTask.of(task_of_benchmark(benchmark_task("race-middle"), data), with_columns=True)
    file = tmp_path / "rows.jsonl"
    row = {"text": "a text", "text_pair": "a question", "options": ["one", "two"], "label": "B"}
    file.write_text(json.dumps(row) + "\n")
    read = read_labelled(file, Columns(), saved=saved, options=ReadOptions(task_type="multiple_choice"))
    assert [(each.question, each.target) for each in read.examples] == [("a question", 1)]


def test_submission_files_are_of_one_split_each():
    rows = [task for task in BENCHMARKS.values() if task.format == "tsv"]
    names = [split.submitted_as for task in rows for split in task.splits.values() if split.submitted_as]
    glue = "AX CoLA MNLI-m MNLI-mm MRPC QNLI QQP RTE SST-2 STS-B WNLI"
    assert sorted(names) == [f"{name}.tsv" for name in glue.split()]


def test_unknown_benchmark_is_an_error_with_a_suggestion():
    with pytest.raises(ConfigError, match=r"unknown task 'sst2' \(did you mean 'sst-2'\?\)"):
        benchmark_task("sst2")


@pytest.mark.parametrize(("name", "split"), SPLITS, ids=lambda value: str(value))
def test_benchmark_file_has_the_official_number_of_rows(name, split):
    if PUBLISHED is None:
        pytest.skip("LITEBERT_TEST_DATA names no directory of published files")
    task = BENCHMARKS[name]
    root = Path(PUBLISHED) if task.format == "race" else Path(PUBLISHED) / "glue"
    if not (root / task.folders[0] / task.splits[split].file).exists():
        pytest.skip(f"{task.folders[0]}/{task.splits[split].file} is not there")
    assert len(read_benchmark(name, root, split).examples) == task.splits[split].rows


def test_docs_list_every_benchmark():
    page = (Path(__file__).parents[3] / "docs" / "guides" / "tasks.md").read_text(encoding="utf-8")
    for name, task in BENCHMARKS.items():
        if task.format in ("tsv", "race"):
            rows = ", ".join(f"{split} {file.rows:,}" for split, file in task.splits.items())
            assert f"| `{name}` | {task.task_type} | {rows} | {', '.join(task.metrics)} |" in page


@pytest.mark.parametrize("name", BENCHMARKS)
def test_guide_says_where_the_files_of_a_benchmark_come_from(name):
    page = (Path(__file__).parents[3] / "docs" / "guides" / "tasks.md").read_text(encoding="utf-8")
    table = page.split("### Where the files come from")[1].split("#### MRPC")[0]
    task = BENCHMARKS[name]
    row = next(line for line in table.splitlines() if f"`{name.removesuffix('-pronouns')}`" in line)
    assert task.folders[0] in row
    for file in task.splits.values():
        assert f"{file.file}`" in row
