"""The runs of a sweep as tables: text, Markdown, CSV. Before: `sweep_outcomes`. After: `sweep_result`, `sweep`."""

import csv
import io
from collections.abc import Callable, Sequence

from litebert.commands.sweep.seed_statistics import SeedStatistics
from litebert.commands.sweep.trial_results import Configuration, TrialResult
from litebert.tasks.metrics.text_table import Rows

Table = Callable[[Rows], str]


def run_rows(runs: Sequence[TrialResult]) -> Rows:
    """A row for each run."""
    metrics = _metrics(runs)
    rows = [["run", *metrics, "best at step", "minutes", "state"]]
    for run in runs:
        scores = [f"{run.metrics[name]:.4f}" if run.metrics else "" for name in metrics]
        step, minutes = ("", "") if run.step is None else (f"{run.step:,}", f"{run.minutes:.1f}")
        rows.append([run.name, *scores, step, minutes, run.state])
    return rows


def configuration_rows(configurations: Sequence[Configuration], metric: str) -> Rows:
    """A row for each configuration: one metric over its seeds."""
    rows = [["configuration", "runs", f"median {metric}", "95 % interval of the median", "mean ± std", "best"]]
    for each in configurations:
        name = ", ".join(f"{path} {value}" for path, value in each.settings.items()) or "(all seeds)"
        rows.append([name, *(_figures(each.statistics[metric]) if each.statistics else ["0", "", "", "", ""])])
    return rows


def failure_summary(runs: Sequence[TrialResult]) -> str:
    """A line for every run that is not simply done."""
    stand_ins = {run.replaces: run.name for run in runs if run.replaces}
    lines = []
    for run in runs:
        if run.state != "done":
            stand_in = f"; {stand_ins[run.name]} stands in for it" if run.name in stand_ins else ""
            lines.append(f"{run.state}: {run.name}: {run.reason or 'the same command goes on'}{stand_in}")
    return "\n".join(lines)


def as_csv(runs: Sequence[TrialResult]) -> str:
    """A row for each run, a column for each setting and metric, all digits."""
    axes, metrics = list(dict.fromkeys(path for run in runs for path in run.settings)), _metrics(runs)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["run", *axes, "state", *metrics, "step", "minutes", "replaces", "reason"])
    for run in runs:
        settings, scores = (
            [run.settings.get(axis) for axis in axes],
            [(run.metrics or {}).get(name) for name in metrics],
        )
        minutes = None if run.minutes is None else round(run.minutes, 2)
        writer.writerow([run.name, *settings, run.state, *scores, run.step, minutes, run.replaces, run.reason])
    return buffer.getvalue()


def piped(rows: Rows) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines[:1], "|" + " --- |" * len(rows[0]), *lines[1:]]) if rows else ""


def _metrics(runs: Sequence[TrialResult]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.metrics or ()))


def _figures(statistics: SeedStatistics) -> list[str]:
    interval, spread = "", ""
    if statistics.median_interval is not None:
        interval = "{:.4f} to {:.4f}".format(*statistics.median_interval)
        spread = f"{statistics.mean:.4f} ± {statistics.std:.4f}"
    return [str(statistics.runs), f"{statistics.median:.4f}", interval, spread, f"{statistics.best:.4f}"]
