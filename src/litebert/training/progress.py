"""What a person sees of a run: a live line on a terminal, plain log lines elsewhere. Before: events. After: nothing."""

import logging
import sys
import time
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from litebert.training.events import Evaluated, Event, Finished, Listener, Saved, Started, StepDone
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)


def progress_display() -> Listener:
    """The display that suits where stderr leads."""
    return LiveDisplay(Console(stderr=True)) if sys.stderr.isatty() else LogDisplay()


class LogDisplay:
    """A log line at the first step and then no more often than every `seconds`."""

    def __init__(self, *, seconds: float = 10.0) -> None:
        self._seconds = seconds
        self._last = -float("inf")
        self._began: tuple[float, float] | None = None
        """Time and progress at the first step seen, from which the time left is estimated."""

    def __call__(self, event: Event) -> None:
        """Log what is worth a line."""
        match event:
            case Started(position=position, duration=duration):
                logger.info("training from step %d for %s", position.step, duration)
            case StepDone(position=position, values=values) if time.monotonic() - self._last >= self._seconds:
                self._last = time.monotonic()
                progress = values["progress"]
                left = self._time_left(progress)
                logger.info("step %d (%.1f %%%s) %s", position.step, 100 * progress, left, describe(values))
            case Evaluated(position=position, values=values):
                logger.info("evaluated at step %d: %s", position.step, describe(values))
            case Saved(path=path):
                logger.info("saved %s", path)
            case _:
                pass

    def _time_left(self, progress: float) -> str:
        """`, 3:05 left`, once there is a rate to tell it by."""
        self._began = self._began or (self._last, progress)
        then, before = self._began
        if progress <= before:
            return ""
        seconds = round((self._last - then) / (progress - before) * (1 - progress))
        return f", {seconds // 60}:{seconds % 60:02d} left"


class LiveDisplay:
    """A bar with the newest losses, the rate and the time left; evaluations stay above it."""

    def __init__(self, console: Console) -> None:
        columns = ("{task.description}", "[progress.percentage]{task.percentage:>5.1f}%")
        self._progress = Progress(
            TextColumn(columns[0]), BarColumn(), TextColumn(columns[1]), TimeRemainingColumn(), console=console
        )
        self._task = self._progress.add_task("starting", total=1.0)

    def __call__(self, event: Event) -> None:
        """Redraw."""
        match event:
            case Started():
                self._progress.start()
            case StepDone(position=position, values=values):
                text = f"step {position.step} · {describe(values)}"
                self._progress.update(self._task, completed=values["progress"], description=text)
            case Evaluated(position=position, values=values):
                self._progress.console.print(f"evaluated at step {position.step}: {describe(values)}", highlight=False)
            case Finished():
                self._progress.stop()
            case _:
                pass


def describe(values: Mapping[str, Number]) -> str:
    """The losses, accuracies and rate among `values`, short."""
    shown = [
        f"{name.replace('_', ' ')} {value:.4g}" for name, value in values.items() if name.endswith(("loss", "accuracy"))
    ]
    if "tokens_per_second" in values:
        shown.append(f"{values['tokens_per_second']:,.0f} tokens/s")
    return " · ".join(shown)
