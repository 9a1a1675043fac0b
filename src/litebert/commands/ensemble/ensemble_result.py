"""The result of an ensemble."""

from dataclasses import dataclass
from pathlib import Path

from litebert.commands.result import Result
from litebert.tasks.metrics.bootstrap_difference import BootstrapDifference
from litebert.tasks.metrics.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class MemberScore:
    """The score of one model."""

    path: Path
    chosen: bool
    """Whether it is in the ensemble."""
    metrics: dict[str, float]
    gain: BootstrapDifference
    """Difference of the ensemble to it, in `EnsembleScore.metric`."""


@dataclass(frozen=True, kw_only=True)
class EnsembleScore:
    """The scores on labelled examples."""

    metric: str
    """The metric that selects members and that gains are measured in."""
    evaluation: Evaluation
    members: tuple[MemberScore, ...]
    """In the order of their paths."""
    median_member: Path
    """The model with the median score; the better one of two."""


@dataclass(frozen=True, kw_only=True)
class EnsembleResult(Result):
    """What an ensemble scored and wrote."""

    members: tuple[Path, ...]
    """The models whose predictions are averaged."""
    given: int
    """Number of models to select from."""
    examples: int
    score: EnsembleScore | None
    """None without labels."""
    output: Path | None
    """Where the predictions are."""

    def to_text(self) -> str:
        """The result as text."""
        lines = [] if self.score is None else _score_lines(self.score, len(self.members))
        if self.given > len(self.members) and self.score is not None:
            lines += [
                f"members selected by {self.score.metric} on this data: {' '.join(map(str, self.members))}",
                "The score therefore overestimates: evaluate the same members on other data.",
            ]
        if self.output is not None:
            lines.append(f"{self.output}: {self.examples:,} predictions written")
        return "\n".join(lines)


def _score_lines(score: EnsembleScore, count: int) -> list[str]:
    name = f"ensemble of {count}"
    width = max(len(name), *(len(str(member.path)) for member in score.members))
    lines = [f"{''.ljust(width)}  {score.metric}  gain of the ensemble"]
    for member in score.members:
        note = "" if member.chosen else ", not selected"
        note += ", median" if len(score.members) > 2 and member.path == score.median_member else ""
        value = f"{member.metrics[score.metric]:.4f}".rjust(len(score.metric))
        lines.append(f"{str(member.path).ljust(width)}  {value}  {member.gain.to_text()}{note}")
    value = f"{score.evaluation.metrics[score.metric]:.4f}".rjust(len(score.metric))
    return [*lines, f"{name.ljust(width)}  {value}", score.evaluation.to_text()]
