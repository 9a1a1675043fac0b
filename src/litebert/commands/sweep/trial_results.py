"""The results of the trials of a sweep, read from their run directories, and their statistics over the seeds.

They do not depend on the order in which the trials were trained. One run of fine-tuning says little: of 100 seeds of
one recipe on MRPC some end at the majority class.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.run_directory import RunDirectory
from litebert.commands.sweep.sweep_settings import SEED, Trial
from litebert.randomness import rng_for
from litebert.tasks.metrics.metrics import METRICS
from litebert.tasks.types.registry import get_task_type

RESAMPLES: Final = 10_000
State = Literal["done", "collapsed", "diverged", "failed", "unfinished"]
"""Collapsed: trained, but learned nothing. Diverged: its loss became infinite or NaN."""


@dataclass(frozen=True, slots=True)
class SeedStatistics:
    """One metric over the seeds."""

    trials: int
    median: float
    """What the paper reports, of 5 trials."""
    mean: float
    std: float | None
    """Of the sample (n - 1); None for one trial."""
    best: float
    median_interval: tuple[float, float] | None
    """95 % bootstrap interval of the median; None for one trial. Of few trials it is about their range."""

    def to_text(self) -> str:
        """The figures for a person."""
        if self.std is None or self.median_interval is None:
            return f"{self.median:.4f} (one trial)"
        low, high = self.median_interval
        return (
            f"median {self.median:.4f} (95 % interval {low:.4f} to {high:.4f}), "
            f"mean {self.mean:.4f} ± {self.std:.4f}, best {self.best:.4f} of {self.trials} trials"
        )


@dataclass(frozen=True)
class SweepPaths:
    """Paths of a sweep."""

    path: Path

    def run(self, name: str) -> Path:
        """Run directory of a trial."""
        return self.path / "runs" / name

    def failure(self, name: str) -> Path:
        """JSON file with the reason why a trial failed; absent if it did not."""
        return self.path / "failures" / f"{name}.json"

    def log(self, name: str) -> Path:
        """Log of a trial that was trained in a process of its own."""
        return self.path / "logs" / f"{name}.log"


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
    statistics: dict[str, SeedStatistics]
    """By metric; empty while no trial is finished."""


def result_of(trial: Trial, paths: SweepPaths) -> TrialResult:
    """The result of a trial."""
    common: dict[str, Any] = {"name": trial.name, "settings": trial.settings, "replaces": trial.replaces}
    directory = RunDirectory(paths.run(trial.name))
    result = directory.result(FinetuneResult)
    if result is None:
        failure = paths.failure(trial.name)
        if not failure.exists():
            return TrialResult(**common, state="unfinished")
        return TrialResult(**common, **json.loads(failure.read_bytes()))
    reason = get_task_type(result.task_type).collapse(result.best)
    return TrialResult(
        **common,
        state="collapsed" if reason else "done",
        reason=reason,
        model=result.model,
        metrics={name: value for name, value in result.best["metrics"].items() if name in METRICS},
        metric_for_best_model=result.best["metric_for_best_model"],
        examples=result.best["examples"],
        step=result.best["step"],
        minutes=result.elapsed_seconds / 60,
    )


def configurations_of(results: Sequence[TrialResult]) -> tuple[Configuration, ...]:
    """The trials by configuration, the best median first."""
    replaced = {each.replaces for each in results if each.metrics is not None}
    groups: dict[str, list[TrialResult]] = {}
    for each in results:
        groups.setdefault(json.dumps(without_seed(each.settings)), []).append(each)
    configurations = [_configuration(group, replaced) for group in groups.values()]
    metric = next((each.metric_for_best_model for each in results if each.metric_for_best_model), "")
    return tuple(
        sorted(configurations, key=lambda each: -each.statistics[metric].median if each.statistics else float("inf"))
    )


def without_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without the seed."""
    return {path: value for path, value in settings.items() if path != SEED}


def _configuration(group: Sequence[TrialResult], replaced: Collection[str | None]) -> Configuration:
    counted = [each for each in group if each.metrics is not None and each.name not in replaced]
    scores = [each.metrics or {} for each in counted]
    names = scores[0] if scores else ()
    return Configuration(
        settings=without_seed(group[0].settings),
        trials=tuple(each.name for each in counted),
        statistics={name: statistics_of([metrics[name] for metrics in scores]) for name in names},
    )


def statistics_of(scores: Sequence[float]) -> SeedStatistics:
    """Statistics of one score or more; their order does not matter."""
    values = np.sort(np.asarray(scores, dtype=np.float64))
    several = len(values) > 1
    return SeedStatistics(
        trials=len(values),
        median=float(np.median(values)),
        mean=float(values.mean()),
        std=float(values.std(ddof=1)) if several else None,
        best=float(values[-1]),
        median_interval=_interval(values) if several else None,
    )


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Percentiles of the medians of resamples. Source: Efron (1979)."""
    drawn = rng_for("interval of a median", len(values)).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.median(values[drawn], axis=1), (0.025, 0.975))
    return float(low), float(high)
