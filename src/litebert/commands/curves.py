"""Curves of runs, as a page. Before: run directories. After: a browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.analysis.curve_page import Axis, write_curve_page
from litebert.commands.result import Result


@dataclass(frozen=True)
class CurvesResult(Result):
    """Where the page is."""

    page: Path
    runs: tuple[Path, ...]

    def to_text(self) -> str:
        """The result for a person."""
        return f"{self.page}: curves of {len(self.runs)} run(s); open it in a browser"


def curves(runs: Sequence[Path], out: Path | None, *, over: Axis = "steps") -> CurvesResult:
    """Draw the curves of every run directory on one page: `out`, or `curves.html` in the first of them."""
    page = write_curve_page(runs, out or runs[0] / "curves.html", over=over)
    return CurvesResult(page, tuple(runs))
