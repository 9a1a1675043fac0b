"""The results of the trials of a sweep, their statistics over the seeds, and the result of the sweep.

They are read from the run directories and do not depend on the order in which the trials were trained.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune_worker import Failure, RunFiles
from litebert.commands.result import Result
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.sweep.sweep_settings import SEED, Trial
from litebert.tasks.metrics.seed_statistics import SeedStatistics, statistics_by_metric
from litebert.tasks.metrics.text_table import Rows, aligned, markdown_table
from litebert.tasks.output_formats import csv_text
from litebert.tasks.types.registry import get_task_type

State = Literal["done", "collapsed", "diverged", "failed", "unfinished"]
"""Collapsed: trained, but learned nothing. Diverged: its loss became infinite or NaN."""

Format = Callable[[Rows], str]


@dataclass(frozen=True)
class SweepPaths:
    """Paths of a sweep."""

    path: Path

    def run(self, name: str) -> Path:
        """Run directory of a trial."""
        return self.path / "runs" / name

    @property
    def files(self) -> RunFiles:
        """Failures and logs of the trials, by their names."""
        return RunFiles(self.path)


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """The result of one trial."""

    name: str
    settings: dict[str, Any]
    """Its values along the axes of the grid."""
    state: State
    reason: str | None = None
    """Why its state is not `done`."""
    replaces: str | None = None
    """Name of the collapsed trial that it replaces."""
    model: Path | None = None
    metrics: dict[str, float] | None = None
    """Of its best model, on the development examples."""
    metric_for_best_model: str | None = None
    examples: int | None = None
    """Number of development examples."""
    step: int | None = None
    minutes: float | None = None


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The trials that differ only in their seed."""

    settings: dict[str, Any]
    trials: tuple[str, ...]
    """Names of those in the statistics: all finished ones, collapsed ones only without a replacement."""
    seeds: int
    """Number of trials without the replacements: above that of `trials` where some have no scores."""
    statistics: dict[str, SeedStatistics]
    """By metric; empty while no trial is finished."""

    def rank(self, metric: str) -> tuple[int, float]:
        """The lower the better: how many seeds have no score, then the median.

        Without this order a configuration that diverges with most seeds would win by the one with which it does not.
        """
        found = self.statistics.get(metric)
        return (self.seeds, 0.0) if found is None else (self.seeds - found.trials, -found.median)


def result_of(trial: Trial, paths: SweepPaths) -> TrialResult:
    """The result of a trial."""
    common: dict[str, Any] = {"name": trial.name, "settings": trial.settings, "replaces": trial.replaces}
    directory = RunDirectory(paths.run(trial.name))
    result = directory.result(FinetuneResult)
    if result is None:
        failure = Failure.read(paths.files.failure(trial.name))
        if failure is None:
            return TrialResult(**common, state="unfinished")
        return TrialResult(**common, state=failure.state, reason=failure.reason)
    if not result.best.evaluation.has_scores:
        return TrialResult(**common, state="diverged", reason="no evaluated model has scores that are finite")
    reason = get_task_type(result.task_type).collapse(result.best.evaluation)
    return TrialResult(
        **common,
        state="collapsed" if reason else "done",
        reason=reason,
        model=result.model,
        metrics=result.scores,
        metric_for_best_model=result.best.metric,
        examples=result.best.evaluation.examples,
        step=result.best.step,
        minutes=result.elapsed_seconds / 60,
    )


def configurations_of(results: Sequence[TrialResult]) -> tuple[Configuration, ...]:
    """The trials by configuration: those in which every seed has a score first, by their medians."""
    replaced = _replaced(results)
    groups: dict[str, list[TrialResult]] = {}
    for each in results:
        groups.setdefault(json.dumps(without_seed(each.settings)), []).append(each)
    configurations = [_configuration(group, replaced) for group in groups.values()]
    metric = next((each.metric_for_best_model for each in results if each.metric_for_best_model), "")
    return tuple(sorted(configurations, key=lambda each: each.rank(metric)))


def _replaced(results: Sequence[TrialResult]) -> set[str]:
    """The trials that others with scores replace, also by replacements in between that have none."""
    replaces = {each.name: each.replaces for each in results}
    found: set[str] = set()
    for each in results:
        name = each.replaces if each.metrics is not None else None
        while name is not None:
            found.add(name)
            name = replaces.get(name)
    return found


def without_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without the seed."""
    return {path: value for path, value in settings.items() if path != SEED}


def _configuration(group: Sequence[TrialResult], replaced: Collection[str]) -> Configuration:
    counted = [each for each in group if each.metrics is not None and each.name not in replaced]
    return Configuration(
        settings=without_seed(group[0].settings),
        trials=tuple(each.name for each in counted),
        seeds=sum(each.replaces is None for each in group),
        statistics=statistics_by_metric([each.metrics for each in counted]),
    )


@dataclass(frozen=True, kw_only=True)
class SweepResult(Result):
    """The result of a sweep; also the content of its `sweep.json`."""

    metric_for_best_model: str | None
    """None while no trial is finished, as the fields with None below."""
    examples: int | None
    """Number of development examples."""
    configurations: tuple[Configuration, ...]
    """Those in which every seed has a score first, the best median first; equal ones in the order of the grid."""
    trials: tuple[TrialResult, ...]
    """In the order of the grid, replacements last."""
    tied: int
    """Number of configurations that have the best median; if more than 1, the first in the order of the grid wins."""
    best_trial: str | None
    """The best trial of the best configuration."""
    recipe: Path | None
    """Its settings."""
    command: str | None
    """The command that trains it again."""

    def to_text(self) -> str:
        """Both tables, the failures, and the best trial."""
        return self._page(aligned)

    def to_markdown(self) -> str:
        """The same in Markdown."""
        return f"# Sweep\n\n{self._page(markdown_table)}\n"

    def _page(self, table: Format) -> str:
        metric = self.metric_for_best_model
        configurations = [] if metric is None else configuration_rows(self.configurations, metric)
        parts = [table(trial_rows(self.trials)), table(configurations), failure_summary(self.trials), self._best()]
        return "\n\n".join(part for part in parts if part)

    def _best(self) -> str:
        if self.metric_for_best_model is None:
            return "no trial is finished"
        lines = [f"best: {self.best_trial}, {self.recipe}", f"  {self.command}"]
        if self.tied > 1:
            lines.insert(0, f"{self.tied} configurations have the best median; the first of them in the grid is chosen")
        if sum(trial.metrics is not None for trial in self.trials) > 1:
            lines.append(
                f"Selected by {self.metric_for_best_model} on the {self.examples:,} development examples, so its score "
                "there is too optimistic; report its score on examples that were not used for the selection."
            )
        return "\n".join(lines)


def trial_rows(trials: Sequence[TrialResult]) -> Rows:
    """A table with a row for each trial."""
    metrics = _metric_names(trials)
    rows = [["trial", *metrics, "best at step", "minutes", "state"]]
    for trial in trials:
        scores = [f"{trial.metrics[name]:.4f}" if trial.metrics else "" for name in metrics]
        step, minutes = ("", "") if trial.step is None else (f"{trial.step:,}", f"{trial.minutes:.1f}")
        rows.append([trial.name, *scores, step, minutes, trial.state])
    return rows


def configuration_rows(configurations: Sequence[Configuration], metric: str) -> Rows:
    """A table with a row for each configuration: one metric over its seeds."""
    rows = [["configuration", "trials", f"median {metric}", "interval of the median", "mean ± std", "best"]]
    for each in configurations:
        name = ", ".join(f"{path} {value}" for path, value in each.settings.items()) or "(all seeds)"
        found = each.statistics.get(metric)
        counted = found.trials if found else 0
        trials = str(counted) if counted == each.seeds else f"{counted} of {each.seeds} seeds"
        rows.append([name, trials, *(_cells(found) if found else [""] * 4)])
    return rows


def failure_summary(trials: Sequence[TrialResult]) -> str:
    """A line for every trial whose state is not `done`."""
    replacements = {trial.replaces: trial.name for trial in trials if trial.replaces}
    lines = []
    for trial in trials:
        if trial.state != "done":
            replaced = f"; replaced by {replacements[trial.name]}" if trial.name in replacements else ""
            lines.append(f"{trial.state}: {trial.name}: {trial.reason or 'the same command resumes it'}{replaced}")
    return "\n".join(lines)


def as_csv(trials: Sequence[TrialResult]) -> str:
    """A row for each trial, a column for each setting and metric, with all digits."""
    axes, metrics = list(dict.fromkeys(path for trial in trials for path in trial.settings)), _metric_names(trials)
    rows: list[list[Any]] = [["trial", *axes, "state", *metrics, "step", "minutes", "replaces", "reason"]]
    for trial in trials:
        settings = [trial.settings.get(axis) for axis in axes]
        scores = [(trial.metrics or {}).get(name) for name in metrics]
        minutes = None if trial.minutes is None else round(trial.minutes, 2)
        rows.append([trial.name, *settings, trial.state, *scores, trial.step, minutes, trial.replaces, trial.reason])
    return csv_text(rows)


def _metric_names(trials: Sequence[TrialResult]) -> list[str]:
    return list(dict.fromkeys(name for trial in trials for name in trial.metrics or ()))


def _cells(statistics: SeedStatistics) -> list[str]:
    interval, spread = "", ""
    if statistics.median_interval is not None:
        low, high = statistics.median_interval
        interval = f"{statistics.interval_name} {low:.4f} to {high:.4f}"
        spread = f"{statistics.mean:.4f} ± {statistics.std:.4f}"
    return [f"{statistics.median:.4f}", interval, spread, f"{statistics.best:.4f}"]
