"""All runs of a table that leave the precision open have the same one, also after it is resumed."""

import json

import pytest

from litebert.commands.reproduce.cell_precision import cells_with_one_precision
from litebert.commands.reproduce.cells import Cell, Inputs, cells_of, unique
from litebert.commands.reproduce.scheduler import CellPaths, needed_cells
from litebert.commands.reproduce.scores import all_cells
from litebert.commands.reproduce.tables.paper_tables import load_table
from litebert.commands.reproduce.tables.scales import load_scale
from litebert.errors import CheckpointError
from litebert.files import write_json
from litebert.model import matmul_speed
from support.data.benchmark_files import write_cola


@pytest.fixture
def cells(corpus_directory, tmp_path):
    """Three pretraining runs without a precision, and fine-tuning runs with one."""
    scale = load_scale("tiny").replace(tasks={"cola": {}}, finetune={"train.precision": "bf16"})
    inputs = Inputs(corpus_directory, (), (write_cola(tmp_path / "glue"),))
    return unique(all_cells(cells_of(load_table("table-5").replace(tasks=True), scale, inputs, seeds=(0,))))


@pytest.fixture
def measured(monkeypatch):
    """What the machine finds to be the fastest, changed by the test; and how often it was measured."""
    found = ["fp32"]
    monkeypatch.setattr(matmul_speed, "fastest_precision", lambda config, device, use: found[-1])
    return found


def precisions(cells: list[Cell], kind: str) -> set[str]:
    return {cell.settings["train"]["precision"] for cell in cells if cell.kind == kind}


def test_precision_is_measured_once_and_recorded(cells, measured, tmp_path):
    paths = CellPaths(tmp_path / "out")
    assert precisions(cells, "pretrain") == {"auto"}
    first = cells_with_one_precision(cells, paths)
    measured.append("bf16")
    again = cells_with_one_precision(cells, paths)
    assert precisions(first, "pretrain") == precisions(again, "pretrain") == {"fp32"}
    assert json.loads((tmp_path / "out" / "precision.json").read_text()) == {"precision": "fp32"}
    assert [cell.key for cell in first] == [cell.key for cell in cells]
    paths.validate()


def test_precision_that_a_run_names_is_kept(cells, measured, tmp_path):
    found = cells_with_one_precision(cells, CellPaths(tmp_path / "out"))
    assert precisions(found, "finetune") == {"bf16"}


@pytest.mark.parametrize("content", ["{}", '{"precision": "fp99"}'])
def test_damaged_record_of_the_precision_is_refused(cells, tmp_path, content):
    paths = CellPaths(tmp_path / "out")
    paths.path.mkdir()
    (paths.path / "precision.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"precision.json: has no precision; remove it"):
        cells_with_one_precision(cells, paths)


def test_precision_of_runs_that_began_before_the_record_is_taken(cells, measured, tmp_path):
    paths = CellPaths(tmp_path / "out")
    started = next(cell for cell in cells if cell.kind == "pretrain")
    paths.run(started).mkdir(parents=True)
    (paths.run(started) / "settings.yaml").write_text("train: {precision: bf16}\n")
    assert precisions(cells_with_one_precision(cells, paths), "pretrain") == {"bf16"}


def test_precision_is_not_recorded_where_every_run_names_one(cells, tmp_path):
    named = [cell for cell in cells_with_one_precision(cells, CellPaths(tmp_path / "first")) if cell.kind == "finetune"]
    assert cells_with_one_precision(named, CellPaths(tmp_path / "out")) == named
    assert not (tmp_path / "out").exists()


def test_runs_whose_weights_are_gone_are_repeated_with_the_recorded_precision(cells, measured, tmp_path):
    paths = CellPaths(tmp_path / "out")
    found = cells_with_one_precision(cells, paths)
    for cell in found:
        if cell.kind == "pretrain":  # a result without weights
            write_json(paths.result(cell), {"key": cell.key, "metrics": {}})
    again = needed_cells(found, paths)
    assert {cell.kind for cell in again} == {"pretrain", "finetune"}
    assert precisions(again, "pretrain") == {"fp32"}
