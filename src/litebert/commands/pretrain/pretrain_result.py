"""What a finished pretraining run reports. Before: `pretrain` has trained. After: `result.json`, a person."""

from dataclasses import dataclass
from pathlib import Path

from litebert.commands.pretrain.held_out_scores import HeldOutScores
from litebert.commands.result import Result


@dataclass(frozen=True)
class PretrainResult(Result):
    """What a finished run reports; also the content of its `result.json`."""

    model: Path
    steps: int
    tokens: int
    elapsed_seconds: float
    step_seconds: float
    """Time spent in steps, without evaluation and checkpoints."""
    start: HeldOutScores | None
    end: HeldOutScores | None

    @property
    def tokens_per_second(self) -> float:
        """Tokens without padding per second of the steps, without evaluation and checkpoints."""
        return self.tokens / self.step_seconds if self.step_seconds else 0.0

    def to_text(self) -> str:
        """The result for a person."""
        lines = [
            f"{self.steps:,} steps, {self.tokens:,} tokens in {self.elapsed_seconds / 60:.1f} minutes "
            f"({self.tokens_per_second:,.0f} tokens/s)"
        ]
        for name, scores in (("start", self.start), ("end", self.end)):
            lines += [f"held-out text at the {name}: {scores.to_text()}"] if scores else []
        return "\n".join([*lines, f"model: {self.model}"])
