"""Scores on held-out text as a result. Before: `held_out.py` measured. After: files, tables, a person."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from litebert.commands.pretrain.held_out_objective import BASELINE, EXAMPLE_TOKENS, HIDDEN_WORDS
from litebert.commands.result import Result
from litebert.tasks.metrics.metrics import wilson_interval
from litebert.training.protocols import Number

Interval = tuple[float, float]
PAIR_TASKS = {"sop": "SOP", "nsp": "NSP"}


@dataclass(frozen=True)
class Share:
    """An accuracy in [0, 1] and the number of answers behind it."""

    accuracy: float
    count: int


@dataclass(frozen=True)
class HeldOutScores(Result):
    """Masked-token and pair accuracy on held-out text; accuracies are shares in [0, 1]."""

    mlm_accuracy: float
    mlm_loss: float
    """Mean cross-entropy in nats; its exponential is the perplexity."""
    mlm_count: int
    baseline_accuracy: float
    """Accuracy of always naming the most frequent token of the training text."""
    sop_accuracy: float | None
    """Sentence order; None without pairs that carry a label."""
    sop_count: int
    sop_interval: Interval | None
    """Wilson's 95 % interval of the order accuracy; chance is 0.5."""
    nsp_accuracy: float | None = None
    """Next sentence; None where it was not asked for."""
    nsp_count: int = 0
    nsp_interval: Interval | None = None
    mlm_by_hidden_words: dict[str, Share] = field(default_factory=dict)
    """Masked tokens by the number of words that are hidden in a row."""
    mlm_by_example_tokens: dict[str, Share] = field(default_factory=dict)
    """Masked tokens by the length of the example: each name's range begins where the one before it ends."""

    @classmethod
    def of(cls, values: Mapping[str, Number]) -> Self:
        """The scores among the numbers of an evaluation."""
        return cls(
            mlm_accuracy=values["mlm_accuracy"],
            mlm_loss=values["mlm_loss"],
            mlm_count=int(values["mlm_count"]),
            baseline_accuracy=values[f"{BASELINE}_accuracy"],
            **_pair_scores(values, "sop"),
            **_pair_scores(values, "nsp"),
            mlm_by_hidden_words=_shares(values, HIDDEN_WORDS),
            mlm_by_example_tokens=_shares(values, EXAMPLE_TOKENS),
        )

    @property
    def perplexity(self) -> float:
        """Of the masked tokens."""
        return perplexity(self.mlm_loss)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**super().to_dict(), "mlm_perplexity": self.perplexity}

    def to_text(self) -> str:
        """One line for a person."""
        mlm = f"MLM accuracy {self.mlm_accuracy:.1%} (most frequent token {self.baseline_accuracy:.1%})"
        return ", ".join([mlm, *self._pair_lines()])

    def to_report(self) -> str:
        """Everything, in lines."""
        lines = [
            f"MLM accuracy {self.mlm_accuracy:.1%} (most frequent token {self.baseline_accuracy:.1%}), "
            f"perplexity {self.perplexity:,.1f}; {self.mlm_count:,} masked tokens",
            *self._pair_lines(),
            "",
            *_table("words hidden in a row", self.mlm_by_hidden_words),
            "",
            *_table("tokens of the example", self.mlm_by_example_tokens),
        ]
        return "\n".join(lines)

    def _pair_lines(self) -> list[str]:
        scores = {"sop": (self.sop_accuracy, self.sop_interval), "nsp": (self.nsp_accuracy, self.nsp_interval)}
        return [
            f"{PAIR_TASKS[task]} accuracy {accuracy:.1%} "
            f"(95 % interval {interval[0]:.1%} to {interval[1]:.1%}, chance 50 %)"
            for task, (accuracy, interval) in scores.items()
            if accuracy is not None and interval is not None
        ]


def perplexity(loss: float) -> float:
    """The exponential of a mean cross-entropy; e^700 for the losses of a model gone astray, which a float can hold."""
    return math.exp(min(loss, 700))


def _pair_scores(values: Mapping[str, Number], task: str) -> dict[str, Any]:
    count = int(values.get(f"{task}_count", 0))
    accuracy = values[f"{task}_accuracy"] if count else None
    interval = wilson_interval(round(accuracy * count), count) if accuracy is not None else None
    return {f"{task}_accuracy": accuracy, f"{task}_count": count, f"{task}_interval": interval}


def _shares(values: Mapping[str, Number], names: Mapping[str, object]) -> dict[str, Share]:
    """The groups that have any token, by their names as a reader says them: `3 words`, `to 64 tokens`."""
    return {
        name.removeprefix("mlm_").replace("_", " "): Share(values[f"{name}_accuracy"], int(values[f"{name}_count"]))
        for name in names
        if f"{name}_count" in values
    }


def _table(title: str, shares: Mapping[str, Share]) -> list[str]:
    rows = [f"  {name:<22}{share.accuracy:>7.1%}{share.count:>12,}" for name, share in shares.items()]
    return [f"  {title:<22}{'right':>7}{'masked':>12}", *rows]
