"""Progress of `litebert corpus build`: a live line if stderr is a terminal, else log lines."""

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from litebert.corpus.build.build_progress import BuildProgress, LogProgress, ProgressCallback


@contextlib.contextmanager
def build_display() -> Iterator[ProgressCallback]:
    """A callback that updates a line with a bar, or that logs if stderr is no terminal."""
    if sys.stderr.isatty():
        with live_line(Console(stderr=True)) as progress:
            yield progress
    else:
        yield LogProgress()


@contextlib.contextmanager
def live_line(console: Console) -> Iterator[ProgressCallback]:
    """A bar if the share is known, with sizes, rate and remaining time."""
    with Progress(SpinnerColumn(), BarColumn(20), TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("reading", total=None)

        def show(progress: BuildProgress) -> None:
            total = None if progress.share_read is None else 1.0
            bar.update(task, description=str(progress), total=total, completed=progress.share_read or 0)

        yield show
