"""What a sweep reports. Before: `sweep_outcomes`, `sweep_tables`. After: `sweep.json`, tables as files, a person."""

from dataclasses import dataclass
from pathlib import Path

from litebert.commands.result import Result
from litebert.commands.sweep.sweep_tables import Table, configuration_rows, failure_summary, piped, run_rows
from litebert.commands.sweep.trial_results import Configuration, TrialResult
from litebert.tasks.metrics.text_table import aligned


@dataclass(frozen=True, kw_only=True)
class SweepResult(Result):
    """What a sweep reports."""

    selected_by: str | None
    """None while no run is done."""
    examples: int | None
    """Development rows behind each score."""
    configurations: tuple[Configuration, ...]
    """The best median first; equal ones in the order of the grid."""
    runs: tuple[TrialResult, ...]
    """In the order of the grid, stand-ins last."""
    tied: int
    """Configurations whose median is the best one; more than 1 is a tie, which the order of the grid decides."""
    best_run: str | None
    """The best run of the best configuration."""
    recipe: Path | None
    """Its settings."""
    command: str | None
    """How to train it again."""

    def to_text(self) -> str:
        """Both tables, what went wrong, and the winner."""
        return self._page(aligned)

    def to_markdown(self) -> str:
        """The same as a page."""
        return f"# Sweep\n\n{self._page(piped)}\n"

    def _page(self, table: Table) -> str:
        rows = [] if self.selected_by is None else configuration_rows(self.configurations, self.selected_by)
        parts = [table(run_rows(self.runs)), table(rows), failure_summary(self.runs), self._winner()]
        return "\n\n".join(part for part in parts if part)

    def _winner(self) -> str:
        if self.selected_by is None:
            return "no run is done"
        lines = [f"best: {self.best_run}, {self.recipe}", f"  {self.command}"]
        if self.tied > 1:
            lines.insert(0, f"{self.tied} configurations have the best median; the first of them in the grid is taken")
        if sum(run.metrics is not None for run in self.runs) > 1:
            lines.append(
                f"Selected by {self.selected_by} on the {self.examples:,} development rows: there the best looks "
                "better than it is; say what it scores on rows that had no part in this."
            )
        return "\n".join(lines)
