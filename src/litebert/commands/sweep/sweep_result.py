"""The result of a sweep: as JSON, and as tables in text, Markdown and CSV."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.result import Result
from litebert.commands.sweep.trial_results import Configuration, SeedStatistics, TrialResult
from litebert.tasks.metrics.text_table import Rows, aligned, markdown_table

Format = Callable[[Rows], str]


@dataclass(frozen=True, kw_only=True)
class SweepResult(Result):
    """The result of a sweep; also the content of its `sweep.json`."""

    metric_for_best_model: str | None
    """None while no trial is finished, as the fields with None below."""
    examples: int | None
    """Number of development examples."""
    configurations: tuple[Configuration, ...]
    """The best median first; equal ones in the order of the grid."""
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
    rows = [["configuration", "trials", f"median {metric}", "95 % interval of the median", "mean ± std", "best"]]
    for each in configurations:
        name = ", ".join(f"{path} {value}" for path, value in each.settings.items()) or "(all seeds)"
        rows.append([name, *(_cells(each.statistics[metric]) if each.statistics else ["0", "", "", "", ""])])
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
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["trial", *axes, "state", *metrics, "step", "minutes", "replaces", "reason"])
    for trial in trials:
        settings = [trial.settings.get(axis) for axis in axes]
        scores = [(trial.metrics or {}).get(name) for name in metrics]
        minutes = None if trial.minutes is None else round(trial.minutes, 2)
        writer.writerow(
            [trial.name, *settings, trial.state, *scores, trial.step, minutes, trial.replaces, trial.reason]
        )
    return buffer.getvalue()


def _metric_names(trials: Sequence[TrialResult]) -> list[str]:
    return list(dict.fromkeys(name for trial in trials for name in trial.metrics or ()))


def _cells(statistics: SeedStatistics) -> list[str]:
    interval, spread = "", ""
    if statistics.median_interval is not None:
        interval = "{:.4f} to {:.4f}".format(*statistics.median_interval)
        spread = f"{statistics.mean:.4f} ± {statistics.std:.4f}"
    return [str(statistics.trials), f"{statistics.median:.4f}", interval, spread, f"{statistics.best:.4f}"]
