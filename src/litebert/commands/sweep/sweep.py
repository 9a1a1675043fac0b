"""A sweep from start to finish: fine-tuning with several seeds, or over a grid of settings.

SWEEP/settings.yaml   the settings of the sweep
SWEEP/precision.json  the precision of all trials whose settings leave it to be measured
SWEEP/runs/NAME/      the run directory of each trial
SWEEP/sweep.json, table.md, table.csv, best.yaml
"""

import json
import logging
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from litebert.commands.finetune.data.run_data import read_data
from litebert.commands.finetune.data_settings import LabelledFiles
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.start.start_model import start_config
from litebert.commands.runs.run_directory import ALWAYS_CHANGEABLE, RunDirectory
from litebert.commands.runs.run_precision import runs_with_one_precision
from litebert.commands.sweep.run_trials import train_all
from litebert.commands.sweep.sweep_settings import SweepRun, Trial, replacement, trials_of
from litebert.commands.sweep.trial_results import (
    SweepPaths,
    SweepResult,
    TrialResult,
    as_csv,
    configurations_of,
    result_of,
)
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.machine import validate_processes
from litebert.settings import write_yaml
from litebert.training.callbacks.callback import Callback
from litebert.training.checkpointing.checkpoint import locked_directory

logger = logging.getLogger(__name__)


def sweep(run: SweepRun, out: Path, *, jobs: int = 1, callbacks: Sequence[Callback] = ()) -> SweepResult:
    """Train every trial of the grid, `jobs` at once, and compare them.

    The same call resumes a sweep that was stopped and trains failed trials again; its grid may be larger. Finished
    trials are not trained again.
    """
    validate_processes(jobs, where="jobs")
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("sweep: starts its own processes (--jobs); run it without torchrun")
    trials = trials_of(run)
    changeable = (f"base.{name}" for name in ALWAYS_CHANGEABLE)
    directory = RunDirectory.open(out, run, command="sweep", allowed=("grid", "retry_collapsed", *changeable))
    if not directory.settings_file.exists():
        _validate_data(trials)
    directory.begin(run, command="sweep")
    with locked_directory(directory.path):
        directory.continue_with(run, command="sweep")
        paths = SweepPaths(directory.path)
        trained = _train(run, trials, paths, jobs=jobs, callbacks=callbacks)
        result = _result(trained, [result_of(trial, paths) for trial in trained], paths)
        write_text(paths.path / "table.md", result.to_markdown())
        write_text(paths.path / "table.csv", as_csv(result.trials))
        result.write(paths.path / "sweep.json")
    return result


def _validate_data(trials: Sequence[Trial]) -> None:
    """Raise DataError for wrong rows or columns of a trial, before anything is written."""
    for run in {repr(trial.run.data): trial.run for trial in trials}.values():
        read_data(run)


def _train(
    run: SweepRun, trials: Sequence[Trial], paths: SweepPaths, *, jobs: int, callbacks: Sequence[Callback]
) -> list[Trial]:
    """All trials, and the replacements of those that collapsed or diverged."""
    trained: list[Trial] = []
    waiting = list(trials)
    for attempt in range(run.retry_collapsed + 1):
        waiting = _trials_with_one_precision(waiting, paths)
        train_all(waiting, paths, jobs=jobs, callbacks=callbacks)
        trained += waiting
        collapsed = [trial for trial in waiting if result_of(trial, paths).state in ("collapsed", "diverged")]
        if not collapsed or attempt == run.retry_collapsed:
            break
        waiting = []
        for trial in collapsed:
            waiting.append(replacement(run.base, trial, taken=[each.name for each in (*trained, *waiting)]))
            logger.warning("%s: replaces the collapsed trial %s", waiting[-1].name, trial.name)
    return trained


def _trials_with_one_precision(trials: Sequence[Trial], paths: SweepPaths) -> list[Trial]:
    """The trials; those whose precision is to be measured have the same one."""
    runs = runs_with_one_precision([(each.run, paths.run(each.name)) for each in trials], paths.path, start_config)
    return [replace(trial, run=run) for trial, run in zip(trials, runs, strict=True)]


def _result(trials: Sequence[Trial], results: Sequence[TrialResult], paths: SweepPaths) -> SweepResult:
    configurations = configurations_of(results)
    metric = next((each.metric_for_best_model for each in results if each.metric_for_best_model), None)
    values: dict[str, Any] = {
        "configurations": configurations,
        "trials": tuple(results),
        "metric_for_best_model": metric,
    }
    if metric is None:
        return SweepResult(**values, examples=None, tied=0, best_trial=None, recipe=None, command=None)
    ranks = [each.rank(metric) for each in configurations]
    by_name = {each.name: each for each in results}
    best = max(
        (by_name[name] for name in configurations[0].trials),
        key=lambda each: np.nan_to_num((each.metrics or {})[metric], nan=-np.inf),
    )
    best_run = next(trial.run for trial in trials if trial.name == best.name)
    recipe = paths.path / "best.yaml"
    write_text(recipe, _recipe(best_run, best, paths.path))
    return SweepResult(
        **values,
        examples=best.examples,
        tied=ranks.count(ranks[0]),
        best_trial=best.name,
        recipe=recipe,
        command=_command(best_run, recipe),
    )


def _recipe(run: FinetuneRun, best: TrialResult, path: Path) -> str:
    """A recipe for `litebert finetune`; like every recipe, it has neither model nor data."""
    figures = ", ".join(f"{name} {value:.4f}" for name, value in (best.metrics or {}).items())
    about = {
        "about": f"the best trial of the sweep {path.name}: {best.name}",
        "cost": f"{best.minutes:.1f} minutes in the sweep",
        "expected": f"{figures} on the development examples",
    }
    settings = {name: value for name, value in run.to_dict().items() if name not in ("model", "data")}
    return write_yaml({**about, **settings})


def _command(run: FinetuneRun, recipe: Path) -> str:
    """The command line that trains the same run again."""
    data = run.data.to_dict()
    words = ["litebert", "finetune", str(recipe), "--model", run.model]
    if isinstance(run.data, LabelledFiles):
        words += ["--train", data.pop("train")]
        words += ["--dev", data.pop("dev")] if isinstance(data["dev"], str) else []
        defaults = LabelledFiles(train=run.data.train).to_dict()
    else:
        words += ["--task", data.pop("task"), "--task-dir", data.pop("directory")]
        defaults = {"dev": "dev", "split_files": {}}
    words += [f"data.{name}={json.dumps(value)}" for name, value in data.items() if value != defaults[name]]
    return shlex.join([*words, "--out", "RUN"])
