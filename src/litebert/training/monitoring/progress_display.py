"""What a person sees of a run: a live line on a terminal, plain log lines elsewhere. Before: events. After: nothing."""

import itertools
import logging
import math
import sys
import time
from collections.abc import Mapping, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from litebert.training.monitoring.events import Evaluated, Event, Finished, Listener, Saved, Started, StepDone
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)

_MOST_SCORES = 4
"""Numbers to show of an evaluation that has no loss: the first is the one that selects the best model."""


def progress_display() -> Listener:
    """The display that suits where stderr leads."""
    return LiveDisplay(Console(stderr=True)) if sys.stderr.isatty() else LogDisplay()


class LogDisplay:
    """A log line at the first step and then no more often than every `seconds`."""

    def __init__(self, *, seconds: float = 10.0) -> None:
        self._seconds = seconds
        self._running = RunningMeans()
        self._last = -float("inf")
        self._began: tuple[float, float] | None = None
        """Time and progress at the first step seen, from which the time left is estimated."""

    def __call__(self, event: Event) -> None:
        """Log what is worth a line."""
        match event:
            case Started(position=position, duration=duration):
                logger.info("training from step %d for %s", position.step, duration.told())
            case StepDone(position=position, values=values):
                shown = self._running.add(values)
                if time.monotonic() - self._last >= self._seconds:
                    self._last = time.monotonic()
                    progress = values["progress"]
                    left = self._time_left(progress)
                    logger.info("step %d (%.1f %%%s) %s", position.step, 100 * progress, left, describe(shown))
            case Evaluated(position=position, values=values):
                logger.info("validation at step %d: %s", position.step, describe(values))
            case Saved(path=path):
                logger.info("saved %s", path)
            case _:
                pass

    def _time_left(self, progress: float) -> str:
        """`, 3:05 left` or `, 5 h 3 min left`, once there is a rate to tell it by."""
        self._began = self._began or (self._last, progress)
        then, before = self._began
        if progress <= before:
            return ""
        minutes, seconds = divmod(round((self._last - then) / (progress - before) * (1 - progress)), 60)
        return f", {minutes // 60} h {minutes % 60} min left" if minutes >= 60 else f", {minutes}:{seconds:02d} left"


class LiveDisplay:
    """A bar with the time left, and below it the newest numbers; evaluations stay above."""

    def __init__(self, console: Console) -> None:
        percent = TextColumn("[progress.percentage]{task.percentage:>5.1f} %")
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), percent, TimeRemainingColumn())
        self._bar = Progress(*columns, TextColumn("left"), console=console, expand=True)
        self._task = self._bar.add_task("starting", total=1.0)
        self._live = Live(self._bar, console=console, refresh_per_second=4)
        self._running = RunningMeans()
        self._steps = ""

    def __call__(self, event: Event) -> None:
        """Redraw."""
        match event:
            case Started(total_steps=total):
                self._steps = f" of {total:,}" if total else ""
                self._live.start()
            case StepDone(position=position, values=values):
                text = f"step {position.step:,}{self._steps}"
                self._bar.update(self._task, completed=values["progress"], description=text)
                self._live.update(Group(self._bar, Text("  " + describe(self._running.add(values)), style="dim")))
            case Evaluated(position=position, values=values):
                line = f"validation at step {position.step:,}: {describe(values)}"
                self._live.console.print(line, highlight=False)
            case Saved(path=path):
                self._live.console.print(f"saved {path}", highlight=False, style="dim")
            case Finished():
                self._live.stop()


class RunningMeans:
    """Means over about the last `steps` records of what jumps from batch to batch."""

    def __init__(self, *, steps: int = 30) -> None:
        self._keep = 1 - 1 / steps
        self._means: dict[str, float] = {}

    def add(self, values: Mapping[str, Number]) -> dict[str, Number]:
        """`values` with means in place of losses, accuracies and rates; what is not finite is shown as it is."""
        shown = dict(values)
        for name, value in values.items():
            if name.endswith(("loss", "accuracy", "per_second", "mfu")) and math.isfinite(value):
                mean = self._means.get(name, value)
                self._means[name] = shown[name] = self._keep * mean + (1 - self._keep) * value
        return shown


def describe(values: Mapping[str, Number]) -> str:
    """Each loss with its accuracy, the rate and the memory among `values`, short; without a loss, the first scores."""
    if "loss" not in values:
        scores = itertools.islice(values.items(), _MOST_SCORES)
        return " · ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in scores)
    tasks = [name.removesuffix("_loss") for name in values if name.endswith("_loss")]
    parts = [_task(task, values) for task in tasks]
    others = [name for name in values if name.endswith(("loss", "accuracy")) and name not in ("loss", *_names(tasks))]
    parts += [f"{name.replace('_', ' ')} {values[name]:.4g}" for name in others if not name.startswith(tuple(tasks))]
    if not parts:
        parts.append(f"loss {values['loss']:.4g}")
    if "tokens_per_second" in values:
        parts.append(f"{values['tokens_per_second']:,.0f} tokens/s")
    if "mfu" in values:
        parts.append(f"MFU {values['mfu']:.1%}")
    if values.get("memory_bytes"):
        parts.append(f"{values['memory_bytes'] / 2**30:.1f} GiB")
    return " · ".join(parts)


def _names(tasks: Sequence[str]) -> list[str]:
    return [f"{task}_{kind}" for task in tasks for kind in ("loss", "accuracy")]


def _task(task: str, values: Mapping[str, Number]) -> str:
    """`MLM 13.2% (loss 5.66)`."""
    name, loss = task.upper() if len(task) == 3 else task, values[f"{task}_loss"]
    accuracy = values.get(f"{task}_accuracy")
    return f"{name} loss {loss:.4g}" if accuracy is None else f"{name} {accuracy:.1%} (loss {loss:.4g})"
