"""What has become of each run of a sweep. Before: run directories. After: `sweep_tables`, `sweep_result`.

Everything is read from the directories of the runs, so the order in which they were trained leaves no trace.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from litebert.commands.finetune.finetune import FinetuneResult
from litebert.commands.run_directory import RunDirectory
from litebert.commands.sweep.seed_statistics import SeedStatistics, statistics_of
from litebert.commands.sweep.sweep_settings import SEED
from litebert.commands.sweep.trials import Trial
from litebert.tasks.metrics.metrics import METRICS
from litebert.tasks.types.registry import get_task_type

State = Literal["done", "collapsed", "diverged", "failed", "unfinished"]
"""Collapsed: trained, but learned nothing. Diverged: its loss did not stay finite."""


@dataclass(frozen=True)
class SweepPaths:
    """Where a sweep keeps what."""

    path: Path

    def run(self, name: str) -> Path:
        """Run directory."""
        return self.path / "runs" / name

    def failure(self, name: str) -> Path:
        """Why a run failed, while it has."""
        return self.path / "failures" / f"{name}.json"

    def log(self, name: str) -> Path:
        """What a run in a process of its own said."""
        return self.path / "logs" / f"{name}.log"


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """One run of a sweep."""

    name: str
    settings: dict[str, Any]
    """Its values along the axes of the grid."""
    state: State
    reason: str | None = None
    """Why it is not simply done."""
    replaces: str | None = None
    """The collapsed run that it stands in for."""
    model: Path | None = None
    metrics: dict[str, float] | None = None
    """Of its best model, on the development rows; without thresholds and the like."""
    selected_by: str | None = None
    examples: int | None = None
    """Development rows."""
    step: int | None = None
    minutes: float | None = None


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Runs that differ in their seed alone."""

    settings: dict[str, Any]
    runs: tuple[str, ...]
    """Those that count: a collapsed one counts, too, unless another one stands in for it."""
    statistics: dict[str, SeedStatistics]
    """By metric; empty while no run is done."""


def result_of(cell: Trial, places: SweepPaths) -> TrialResult:
    """What has become of a run."""
    about: dict[str, Any] = {"name": cell.name, "settings": cell.settings, "replaces": cell.replaces}
    directory = RunDirectory(places.run(cell.name))
    result = directory.result(FinetuneResult)
    if result is None:
        failure = places.failure(cell.name)
        if not failure.exists():
            return TrialResult(**about, state="unfinished")
        return TrialResult(**about, **json.loads(failure.read_bytes()))
    reason = get_task_type(result.task_type).collapse(result.best)
    return TrialResult(
        **about,
        state="collapsed" if reason else "done",
        reason=reason,
        model=result.model,
        metrics={name: value for name, value in result.best["metrics"].items() if name in METRICS},
        selected_by=result.best["metric_for_best_model"],
        examples=result.best["examples"],
        step=result.best["step"],
        minutes=result.elapsed_seconds / 60,
    )


def configurations_of(outcomes: Sequence[TrialResult]) -> tuple[Configuration, ...]:
    """The runs by configuration, the best median first."""
    replaced = {each.replaces for each in outcomes if each.metrics is not None}
    groups: dict[str, list[TrialResult]] = {}
    for each in outcomes:
        groups.setdefault(json.dumps(without_seed(each.settings)), []).append(each)
    rows = [_configuration(group, replaced) for group in groups.values()]
    measure = next((each.selected_by for each in outcomes if each.selected_by), "")
    return tuple(sorted(rows, key=lambda row: -row.statistics[measure].median if row.statistics else float("inf")))


def without_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What other seeds of the same have in common."""
    return {path: value for path, value in settings.items() if path != SEED}


def _configuration(group: Sequence[TrialResult], replaced: Collection[str | None]) -> Configuration:
    counting = [each for each in group if each.metrics is not None and each.name not in replaced]
    scores = [each.metrics or {} for each in counting]
    names = scores[0] if scores else ()
    return Configuration(
        settings=without_seed(group[0].settings),
        runs=tuple(each.name for each in counting),
        statistics={name: statistics_of([given[name] for given in scores]) for name in names},
    )
