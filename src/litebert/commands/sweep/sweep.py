"""A sweep, start to finish: several seeds, or a grid of settings. Before: `sweep_settings`. After: one table, a recipe.

SWEEP/settings.yaml   what was asked
SWEEP/runs/NAME/      a run directory each
SWEEP/sweep.json, table.md, table.csv, best.yaml
"""

import json
import logging
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from litebert.commands.finetune.finetune_settings import FinetuneRun, LabelledFiles
from litebert.commands.run_directory import RunDirectory
from litebert.commands.sweep.run_trials import train_all
from litebert.commands.sweep.sweep_result import SweepResult
from litebert.commands.sweep.sweep_settings import SweepRun
from litebert.commands.sweep.sweep_tables import as_csv
from litebert.commands.sweep.trial_results import SweepPaths, TrialResult, configurations_of, result_of
from litebert.commands.sweep.trials import Trial, restarted, trials_of
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.settings import write_yaml
from litebert.training.callbacks.callback import Callback
from litebert.training.checkpointing.run_lock import locked

logger = logging.getLogger(__name__)


def sweep(run: SweepRun, out: Path, *, jobs: int = 1, callbacks: Sequence[Callback] = ()) -> SweepResult:
    """Train every run of the grid, `jobs` at once, and compare them.

    The same call goes on where an earlier one was stopped, tries again what failed, and may have a larger grid;
    finished runs are left alone.
    """
    if jobs < 1:
        raise ConfigError(f"jobs: {jobs}, but at least one run must be trained at a time")
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("sweep: starts its own processes (--jobs); start it without torchrun")
    cells = trials_of(run)
    directory = RunDirectory.open(out, run, kind="sweep", allowed=("grid", "restarts"))
    directory.begin(run, kind="sweep")
    with locked(directory.path):
        places = SweepPaths(directory.path)
        trained = _train(run, cells, places, jobs=jobs, callbacks=callbacks)
        result = _result(trained, [result_of(cell, places) for cell in trained], places)
        write_text(places.path / "table.md", result.to_markdown())
        write_text(places.path / "table.csv", as_csv(result.runs))
        result.write(places.path / "sweep.json")
    return result


def _train(
    run: SweepRun, cells: Sequence[Trial], places: SweepPaths, *, jobs: int, callbacks: Sequence[Callback]
) -> list[Trial]:
    """All cells, and those that stand in for collapsed ones."""
    trained: list[Trial] = []
    wave = list(cells)
    for attempt in range(run.restarts + 1):
        train_all(wave, places, jobs=jobs, callbacks=callbacks)
        trained += wave
        collapsed = [cell for cell in wave if result_of(cell, places).state in ("collapsed", "diverged")]
        if not collapsed or attempt == run.restarts:
            break
        wave = []
        for cell in collapsed:
            wave.append(restarted(run.base, cell, taken=[each.name for each in (*trained, *wave)]))
            logger.warning("%s: is trained to stand in for %s", wave[-1].name, cell.name)
    return trained


def _result(cells: Sequence[Trial], outcomes: Sequence[TrialResult], places: SweepPaths) -> SweepResult:
    rows = configurations_of(outcomes)
    measure = next((each.selected_by for each in outcomes if each.selected_by), None)
    values: dict[str, Any] = {"configurations": rows, "runs": tuple(outcomes), "selected_by": measure}
    if measure is None:
        return SweepResult(**values, examples=None, tied=0, best_run=None, recipe=None, command=None)
    medians = [row.statistics[measure].median for row in rows if row.statistics]
    by_name = {each.name: each for each in outcomes}
    best = max((by_name[name] for name in rows[0].runs), key=lambda each: (each.metrics or {})[measure])
    winner = next(cell.run for cell in cells if cell.name == best.name)
    recipe = places.path / "best.yaml"
    write_text(recipe, _recipe(winner, best, places.path))
    return SweepResult(
        **values,
        examples=best.examples,
        tied=medians.count(medians[0]),
        best_run=best.name,
        recipe=recipe,
        command=_command(winner, recipe),
    )


def _recipe(run: FinetuneRun, best: TrialResult, path: Path) -> str:
    """A file that `litebert finetune` takes; model and data are given to the command, as with every recipe."""
    figures = ", ".join(f"{name} {value:.4f}" for name, value in (best.metrics or {}).items())
    about = {
        "about": f"the best run of the sweep {path.name}, {best.name}",
        "cost": f"{best.minutes:.1f} minutes where it was found",
        "expected": f"{figures} on the development rows",
    }
    settings = {name: value for name, value in run.to_dict().items() if name not in ("model", "data")}
    return write_yaml({**about, **settings})


def _command(run: FinetuneRun, recipe: Path) -> str:
    """The command line that trains a run again."""
    data = run.data.to_dict()
    words = ["litebert", "finetune", str(recipe), "--model", run.model]
    if isinstance(run.data, LabelledFiles):
        words += ["--train", data.pop("train")]
        words += ["--dev", data.pop("dev")] if isinstance(data["dev"], str) else []
        usual = LabelledFiles(train=run.data.train).to_dict()
    else:
        words += ["--task", data.pop("task"), "--data", data.pop("directory")]
        usual = {"dev": "dev", "files": {}}
    words += [f"data.{name}={json.dumps(value)}" for name, value in data.items() if value != usual[name]]
    return shlex.join([*words, "--out", "RUN"])
