"""Progress displays: a live line on a terminal, plain lines elsewhere."""

import itertools
import logging
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from litebert.logs import readable_seconds
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)

_MAX_METRICS = 4
"""Metrics to show of an evaluation without a loss; the first one selects the best model."""


def progress_display() -> Callback:
    """A live display if stderr is a terminal or in a notebook, else lines: in the log, or on stderr without one."""
    console = Console(stderr=True)
    return LiveDisplay(console) if sys.stderr.isatty() or console.is_jupyter else LogDisplay()


class LogDisplay(Callback):
    """Logs the first step, then one step in every `seconds`, and every evaluation and checkpoint.

    In a program that has not set up logging, which drops such lines, they go to stderr.
    """

    def __init__(self, *, seconds: float = 10.0) -> None:
        self._seconds = seconds
        self._means = RunningMeans()
        self._last_line = -math.inf
        self._time_left = TimeLeft()

    def on_train_begin(self, run: RunState) -> None:
        """Log the step that the run starts from; forget an earlier run."""
        self._means, self._last_line, self._time_left = RunningMeans(), -math.inf, TimeLeft()
        _write(f"training from step {run.progress.step} for {run.schedule.settings.duration.to_text()}")

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Log the running means of the metrics if it is time."""
        means, now, fraction = self._means.add(record.metrics), time.monotonic(), record.metrics["progress"]
        left = self._time_left.after(fraction, now)
        if now - self._last_line >= self._seconds:
            self._last_line = now
            shown = f", {left} left" if left else ""
            _write(f"step {record.step} ({100 * fraction:.1f} %{shown}) {describe(means)}")

    def on_evaluate(self, run: RunState, metrics: Mapping[str, Number]) -> None:
        """Log the metrics of the evaluation."""
        _write(f"validation at step {run.progress.step}: {describe(metrics)}")

    def on_checkpoint(self, run: RunState, path: Path, step: int) -> None:
        """Log the path of the checkpoint."""
        _write(f"saved {path}")


def _write(line: str) -> None:
    if logger.hasHandlers():
        logger.info("%s", line)
    else:
        sys.stderr.write(f"{line}\n")


class LiveDisplay(Callback):
    """A progress bar with the time left, and below it the newest metrics; evaluations stay above."""

    def __init__(self, console: Console) -> None:
        percent = TextColumn("[progress.percentage]{task.percentage:>5.1f} %")
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            percent,
            TextColumn("{task.fields[left]}"),
        )
        self._bar = Progress(*columns, console=console, expand=True)
        self._task = self._bar.add_task("starting", total=1.0, left="")
        self._live = Live(self._bar, console=console, refresh_per_second=4)
        self._means, self._time_left = RunningMeans(), TimeLeft()

    def on_train_begin(self, run: RunState) -> None:
        """Show how much of the run is done; forget an earlier run."""
        self._means, self._time_left = RunningMeans(), TimeLeft()
        self._bar.reset(self._task, description="starting", left="")
        self._bar.update(self._task, completed=run.schedule.fraction(run.progress))
        self._live.start()

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Show the step, the time left and the running means of the metrics."""
        total = run.schedule.total_steps
        text, fraction = f"step {record.step:,}" + (f" of {total:,}" if total else ""), record.metrics["progress"]
        left = self._time_left.after(fraction, time.monotonic())
        self._bar.update(self._task, completed=fraction, description=text, left=f"{left} left" if left else "")
        self._live.update(Group(self._bar, Text("  " + describe(self._means.add(record.metrics)), style="dim")))

    def on_evaluate(self, run: RunState, metrics: Mapping[str, Number]) -> None:
        """Print the metrics of the evaluation above the bar."""
        line = f"validation at step {run.progress.step:,}: {describe(metrics)}"
        self._live.console.print(line, highlight=False)

    def on_checkpoint(self, run: RunState, path: Path, step: int) -> None:
        """Print the path of the checkpoint above the bar."""
        self._live.console.print(f"saved {path}", highlight=False, style="dim")

    def on_train_end(self, run: RunState) -> None:
        """Leave the bar as it is."""
        self._live.stop()


class TimeLeft:
    """The time left of a run, from the speed since the first step of this process."""

    def __init__(self) -> None:
        self._start: tuple[float, float] | None = None
        """Time, and fraction of the run, after the first step."""

    def after(self, fraction: float, now: float) -> str:
        """`3 min 5 s` after a step that completed `fraction` of the run, `now` in seconds; empty after the first."""
        start, fraction_at_start = self._start = self._start or (now, fraction)
        if fraction <= fraction_at_start:
            return ""
        return readable_seconds((now - start) / (fraction - fraction_at_start) * (1 - fraction))


class RunningMeans:
    """Exponential means, over about `steps` steps, of the metrics that vary from batch to batch."""

    def __init__(self, *, steps: int = 30) -> None:
        self._decay = 1 - 1 / steps
        self._means: dict[str, float] = {}

    def add(self, values: Mapping[str, Number]) -> dict[str, Number]:
        """`values` with means in place of losses, accuracies and throughput; a value that is not finite stays."""
        shown = dict(values)
        for name, value in values.items():
            if name.endswith(("loss", "accuracy", "per_second", "mfu")) and math.isfinite(value):
                mean = self._means.get(name, value)
                self._means[name] = shown[name] = self._decay * mean + (1 - self._decay) * value
        return shown


def describe(values: Mapping[str, Number]) -> str:
    """The losses, accuracies, throughput and memory of `values` in one line; without a loss, the first few metrics."""
    if "loss" not in values:
        first = itertools.islice(values.items(), _MAX_METRICS)
        return " · ".join(f"{name.replace('_', ' ')} {_shown(name, value)}" for name, value in first)
    tasks = [name.removesuffix("_loss") for name in values if name.endswith("_loss")]
    parts = [_task(task, values) for task in tasks]
    others = [name for name in values if name.endswith(("loss", "accuracy")) and name not in ("loss", *_names(tasks))]
    parts += [
        f"{name.replace('_', ' ')} {_shown(name, values[name])}" for name in others if not name.startswith(tuple(tasks))
    ]
    if not parts:
        parts.append(f"loss {values['loss']:.4g}")
    if "tokens_per_second" in values:
        parts.append(f"{values['tokens_per_second']:,.0f} tokens/s")
    if "mfu" in values:
        parts.append(f"MFU {values['mfu']:.1%}")
    if values.get("memory_bytes"):
        parts.append(f"{values['memory_bytes'] / 2**30:.1f} GiB")
    return " · ".join(parts)


def _shown(name: str, value: Number) -> str:
    return f"{value:.1%}" if name.endswith("accuracy") else f"{value:.4g}"


def _names(tasks: Sequence[str]) -> list[str]:
    return [f"{task}_{kind}" for task in tasks for kind in ("loss", "accuracy")]


def _task(task: str, values: Mapping[str, Number]) -> str:
    """`MLM accuracy 13.2% (loss 5.66)`."""
    name, loss = task.upper() if len(task) == 3 else task, values[f"{task}_loss"]
    accuracy = values.get(f"{task}_accuracy")
    return f"{name} loss {loss:.4g}" if accuracy is None else f"{name} accuracy {accuracy:.1%} (loss {loss:.4g})"
