"""`analyze curves`: training and validation curves of runs as an HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.analysis.curve_page import Axis, write_curve_page
from litebert.commands.result import Result
from litebert.errors import ConfigError


@dataclass(frozen=True)
class CurvesResult(Result):
    """The page that was written."""

    page: Path
    runs: tuple[Path, ...]

    def to_text(self) -> str:
        """The result as text."""
        return f"{self.page}: curves of {len(self.runs)} run(s); open it in a browser"


def curves(runs: Sequence[Path], out: Path | None, *, over: Axis = "steps") -> CurvesResult:
    """Write the curves of every run directory to one page: `out`, or `curves.html` in the first run directory."""
    if not runs:
        raise ConfigError("curves: no run directory; give one or more")
    if out is not None and out.suffix != ".html":
        raise ConfigError(f"out: {out.name!r}, but the page is an HTML file; give a name that ends in .html")
    page = write_curve_page(runs, out or runs[0] / "curves.html", over=over)
    return CurvesResult(page, tuple(runs))
