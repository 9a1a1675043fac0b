"""What an ensemble reports. Before: `ensemble`. After: `--json`, a person."""

from dataclasses import dataclass
from pathlib import Path

from litebert.commands.result import Result
from litebert.tasks.ensembling.bootstrap_difference import BootstrapDifference
from litebert.tasks.metrics.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class MemberScore:
    """One of the models that were given."""

    path: Path
    chosen: bool
    """Whether it is a member of the ensemble."""
    metrics: dict[str, float]
    gain: BootstrapDifference
    """Of the ensemble over it, in the metric that selects."""


@dataclass(frozen=True, kw_only=True)
class EnsembleScore:
    """The ensemble on labelled rows."""

    metric: str
    """The one that selects, and that gains are of."""
    evaluation: Evaluation
    members: tuple[MemberScore, ...]
    """By their paths."""
    median_member: Path
    """The one in the middle of all that were given; of two the better one."""


@dataclass(frozen=True, kw_only=True)
class EnsembleResult(Result):
    """What an ensemble came to."""

    members: tuple[Path, ...]
    """Those whose predictions are averaged."""
    given: int
    """How many there were to choose from."""
    rows: int
    score: EnsembleScore | None
    """None where the rows have no labels."""
    output: Path | None
    """Where the answers are."""

    def to_text(self) -> str:
        """The result for a person."""
        lines = [] if self.score is None else _score_lines(self.score, len(self.members))
        if self.given > len(self.members) and self.score is not None:
            lines += [
                f"members chosen by {self.score.metric} on these rows: {' '.join(map(str, self.members))}",
                "These rows are therefore no test of the ensemble: score the same members on others.",
            ]
        if self.output is not None:
            lines.append(f"{self.output}: {self.rows:,} rows answered")
        return "\n".join(lines)


def _score_lines(score: EnsembleScore, count: int) -> list[str]:
    name = f"ensemble of {count}"
    width = max(len(name), *(len(str(member.path)) for member in score.members))
    lines = [f"{''.ljust(width)}  {score.metric}  gain of the ensemble"]
    for member in score.members:
        note = "" if member.chosen else ", not a member"
        note += ", the median" if member.path == score.median_member else ""
        value = f"{member.metrics[score.metric]:.4f}".rjust(len(score.metric))
        lines.append(f"{str(member.path).ljust(width)}  {value}  {member.gain.to_text()}{note}")
    value = f"{score.evaluation.metrics[score.metric]:.4f}".rjust(len(score.metric))
    return [*lines, f"{name.ljust(width)}  {value}", score.evaluation.to_text()]
