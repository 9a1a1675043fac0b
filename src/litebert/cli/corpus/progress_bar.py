"""A live line for `litebert corpus build`, where stderr is a terminal. Before: corpus/progress. After: nothing."""

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from litebert.corpus.build.build_progress import BuildProgress, Listener, LogProgress


@contextlib.contextmanager
def build_display() -> Iterator[Listener]:
    """A listener that redraws one line, with a bar; log lines if nobody is there to see it."""
    if sys.stderr.isatty():
        with live_line(Console(stderr=True)) as listener:
            yield listener
    else:
        yield LogProgress()


@contextlib.contextmanager
def live_line(console: Console) -> Iterator[Listener]:
    """A bar where the share is known, and beside it what is done, the rate and the time left."""
    with Progress(SpinnerColumn(), BarColumn(20), TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("reading", total=None)

        def show(progress: BuildProgress) -> None:
            total = None if progress.share_read is None else 1.0
            bar.update(task, description=str(progress), total=total, completed=progress.share_read or 0)

        yield show
