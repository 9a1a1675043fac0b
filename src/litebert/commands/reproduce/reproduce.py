"""Tables of the paper from start to finish: plan, run, report, check."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from litebert.analysis.plots import check_plotting
from litebert.commands.reproduce.cell_precision import cells_with_one_precision
from litebert.commands.reproduce.cells import Cell, Inputs, RowCells, cells_of, unique
from litebert.commands.reproduce.claims import require_scipy, verdict
from litebert.commands.reproduce.data_digests import record_digests
from litebert.commands.reproduce.plan import Plan, plan
from litebert.commands.reproduce.pretraining_sweep_settings import PretrainingSweep
from litebert.commands.reproduce.report import LEGEND, TableReport, write_figures
from litebert.commands.reproduce.reproduce_settings import ReproduceRun
from litebert.commands.reproduce.scheduler import CellPaths, run_cells
from litebert.commands.reproduce.scores import all_cells, scores_of
from litebert.commands.reproduce.tables.paper_tables import Table, load_table
from litebert.commands.reproduce.tables.scales import Scale, load_scale
from litebert.commands.reproduce.tables.table_files import file_names, place_in_paper
from litebert.commands.result import Result
from litebert.errors import CheckpointError, ConfigError
from litebert.files import finite, read_json_object, write_json, write_text
from litebert.machine import validate_processes
from litebert.training.checkpointing.checkpoint import locked_directory

logger = logging.getLogger(__name__)

SEVERAL_SCALES = "Tables of several scales, or of several grids: each says which."


@dataclass(frozen=True)
class ReproduceResult(Result):
    """The reports, and what failed."""

    report: Path
    tables: tuple[str, ...]
    failed: tuple[str, ...]
    """Names of cells that failed; their logs say why."""
    claims: dict[str, int]
    """Number of claims by verdict."""

    def to_text(self) -> str:
        """The result for a person."""
        verdicts = ", ".join(f"{count} {state}" for state, count in self.claims.items())
        failed = f"\nfailed: {', '.join(self.failed)}" if self.failed else ""
        return f"{self.report}: {', '.join(self.tables)}\nclaims: {verdicts}{failed}"

    def exit_code(self, *, check: bool) -> int:
        """1 if a cell failed, or with `check` if a claim does not hold."""
        return int(bool(self.failed) or (check and self.claims["not held"] > 0))


def plan_tables(run: ReproduceRun, out: Path) -> Plan:
    """What the tables cost on this machine; nothing is written."""
    scale = load_scale(run.scale)
    cells = unique(cell for name in run.names for cell in all_cells(_rows(name, load_table(name), scale, run)))
    paths = CellPaths(out)
    return plan(cells, [cell for cell in cells if paths.result(cell).exists()], left_out=left_out(run, scale))


def reproduce(run: ReproduceRun, out: Path, *, jobs: int = 1) -> ReproduceResult:
    """Run the cells of the tables that have no result, `jobs` at once, and write the report.

    `out` holds `report.md`, `results.json`, pictures, and the results of all cells; the same call resumes.
    """
    validate_processes(jobs, where="jobs")
    scale = load_scale(run.scale)
    if not scale.runs:
        raise ConfigError(
            f"scale {run.scale}: is for --plan only (runs: false); choose another scale, train its recipes with "
            "torchrun, or give a copy of its file without that line (docs/guides/reproducing-the-paper.md)"
        )
    if missing := left_out(run, scale):
        logger.warning("left out, for lack of data: %s", ", ".join(missing))
    known = {*file_names("tables"), *(Path(name).stem for name in run.names)}
    if unknown := [name for name in scale.seeds_of if name not in known]:
        logger.warning("scale %s: seeds_of: %s: no such table", run.scale, ", ".join(unknown))
    tables = {name: load_table(name).with_intervals(scale.within) for name in run.names}
    rows = {name: _rows(name, table, scale, run) for name, table in tables.items()}
    for name, table in tables.items():
        require_scipy(table.claims, seeds=len({cells.seed for cells in rows[name]}))
        if table.figure:
            check_plotting()
    return run_tables(tables, rows, run.inputs, out, jobs=jobs, scale=run.scale, about=scale.about)


def left_out(run: ReproduceRun, scale: Scale) -> list[str]:
    """The tasks of the tables without files in `run.data`, and rows with additional data if there is none.

    Raises ConfigError for data that is not a directory.
    """
    for directory in run.data:
        if not directory.is_dir():
            raise ConfigError(f"data: {directory} is not a directory; give those that hold the files of the tasks")
    tables = [load_table(name) for name in run.names]
    tasks = dict.fromkeys(task for table in tables for task in table.tasks_of(scale))
    rows = any(row.corpus == "additional" for table in tables for row in table.rows)
    without = [task for task in tasks if run.inputs.directory_of(task) is None]
    return without + (["rows with additional data"] if rows and not run.additional_corpus else [])


def run_tables(
    tables: Mapping[str, Table],
    rows: Mapping[str, Sequence[RowCells]],
    inputs: Inputs,
    out: Path,
    *,
    jobs: int,
    scale: str,
    about: str,
    title: str = "Tables and figures of the paper",
) -> ReproduceResult:
    """Run the cells of some tables and write their report."""
    paths = CellPaths(out)
    paths.validate()
    with locked_directory(out):
        cells = unique(cell for of_table in rows.values() for cell in all_cells(of_table))
        (out / "cells").mkdir(parents=True, exist_ok=True)  # by which a directory of tables is recognized
        record_digests(cells, paths)
        cells = cells_with_one_precision(cells, paths)
        try:
            failed = run_cells(cells, paths, inputs, jobs=jobs)
        finally:  # a report of what is finished, also after a signal
            reports = [_report(name, table, rows[name], paths, scale) for name, table in tables.items()]
            write_reports(reports, out, title=title, about=about)
    return _result(reports, failed, out)


def sweep_pretraining(run: PretrainingSweep, out: Path, *, jobs: int = 1) -> ReproduceResult:
    """Train every model of the grid with every seed, and write one table of parameters, speed, scores and tasks."""
    validate_processes(jobs, where="jobs")
    tables, rows, about = {"grid": run.table()}, {"grid": run.cells()}, run.scale().about
    return run_tables(tables, rows, run.inputs, out, jobs=jobs, scale=run.recipe, about=about, title="Grid")


def write_reports(reports: Sequence[TableReport], out: Path, *, title: str, about: str) -> None:
    """Write `results.json`, and from it `report.md`; tables that are there from other calls stay."""
    file = out / "results.json"
    tables = {table["name"]: table for table in (*_earlier_tables(file), *map(asdict, reports))}
    ordered = sorted(tables.values(), key=lambda table: place_in_paper(table["name"]))
    scales = {table["scale"] for table in ordered}
    content = {"title": title, "about": about if len(scales) == 1 else SEVERAL_SCALES, "tables": ordered}
    write_json(file, finite(content))
    write_text(out / "report.md", report_text(content))


def _earlier_tables(file: Path) -> list[dict[str, Any]]:
    """The tables of earlier calls; a damaged file is written anew."""
    try:
        tables = read_json_object(file, if_missing="").get("tables", [])
    except CheckpointError:
        return []
    return [table for table in tables if table.keys() == TableReport.field_names()]


def report_text(content: Mapping[str, Any]) -> str:
    """The Markdown of `results.json`; documentation is made by it, and a test compares both."""
    several = len({table["scale"] for table in content["tables"]}) > 1
    parts = [TableReport(**table).to_markdown(with_scale=several) for table in content["tables"]]
    return "\n\n".join([f"# {content['title']}", content["about"].strip(), LEGEND, *parts]) + "\n"


def _rows(name: str, table: Table, scale: Scale, run: ReproduceRun) -> list[RowCells]:
    seeds = run.seeds or scale.seeds_of.get(Path(name).stem, scale.seeds)
    return cells_of(table, scale, run.inputs, seeds=range(seeds))


def _report(name: str, table: Table, rows: Sequence[RowCells], paths: CellPaths, scale: str) -> TableReport:
    scores = scores_of(rows, paths)
    verdicts = [verdict(claim, table, scores) for claim in table.claims]
    name = Path(name).stem
    figures = write_figures(name, table, scores, paths.path)
    return TableReport.of(name, table, scores, verdicts, scale=scale, figures=figures)


def _result(reports: Sequence[TableReport], failed: Sequence[Cell], out: Path) -> ReproduceResult:
    states = [claim["state"] for report in reports for claim in report.claims]
    return ReproduceResult(
        report=out / "report.md",
        tables=tuple(report.name for report in reports),
        failed=tuple(cell.key for cell in failed),
        claims={state: states.count(state) for state in ("held", "not held", "undecided")},
    )
