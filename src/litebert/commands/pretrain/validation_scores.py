"""Scores on validation text as a result: for JSON, tables and people."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from litebert.commands.pretrain.validation_objective import EXAMPLE_LENGTHS, MAJORITY_TOKEN, SPAN_LENGTHS
from litebert.commands.result import Result
from litebert.tasks.metrics.metrics import wilson_interval
from litebert.training.protocols import Number

PAIR_NAMES = {"sop": "SOP", "nsp": "NSP"}


@dataclass(frozen=True)
class Accuracy:
    """An accuracy in [0, 1] and the number of predictions behind it."""

    accuracy: float
    count: int
    interval: tuple[float, float]
    """Wilson's 95 % interval."""

    @classmethod
    def of(cls, values: Mapping[str, Number], name: str) -> Self:
        """The accuracy called `name` among the metrics of an evaluation."""
        accuracy, count = values[f"{name}_accuracy"], int(values[f"{name}_count"])
        return cls(accuracy, count, wilson_interval(round(accuracy * count), count))


@dataclass(frozen=True, kw_only=True)
class ValidationScores(Result):
    """MLM and sentence-pair accuracy on validation text; accuracies are in [0, 1]."""

    mlm_accuracy: float
    mlm_loss: float
    """Mean cross-entropy in nats; its exponential is the perplexity."""
    mlm_count: int
    """Masked tokens."""
    majority_token_accuracy: float
    """Baseline: accuracy of always predicting the most frequent token of the training text."""
    clm_accuracy: float | None = None
    """Of next tokens; None for a model without causal steps, as `clm_loss`."""
    clm_loss: float | None = None
    sentence_pairs: dict[str, Accuracy] = field(default_factory=dict)
    """`sop`, `nsp`: the objectives that were evaluated, and no others; chance is 0.5."""
    mlm_by_span_length: dict[str, Accuracy] = field(default_factory=dict)
    """MLM accuracy by length of the masked span, in words."""
    mlm_by_example_length: dict[str, Accuracy] = field(default_factory=dict)
    """MLM accuracy by length of the example, in tokens."""

    @classmethod
    def of(cls, values: Mapping[str, Number]) -> Self:
        """The scores among the metrics of an evaluation."""
        return cls(
            mlm_accuracy=values["mlm_accuracy"],
            mlm_loss=values["mlm_loss"],
            mlm_count=int(values["mlm_count"]),
            majority_token_accuracy=values[f"{MAJORITY_TOKEN}_accuracy"],
            clm_accuracy=values.get("clm_accuracy"),
            clm_loss=values.get("clm_loss"),
            sentence_pairs={name: Accuracy.of(values, name) for name in PAIR_NAMES if values.get(f"{name}_count")},
            mlm_by_span_length=_groups(values, SPAN_LENGTHS, prefix="mlm_span_"),
            mlm_by_example_length=_groups(values, EXAMPLE_LENGTHS, prefix="mlm_length_"),
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
        return ", ".join([self._mlm_line(), *self._clm_lines(), *self._pair_lines()])

    def to_report(self) -> str:
        """All scores, a line each."""
        lines = [
            f"{self._mlm_line()}, perplexity {self.perplexity:,.1f}; {self.mlm_count:,} masked tokens",
            *self._clm_lines(),
            *self._pair_lines(),
            "",
            *_table("masked span length (words)", self.mlm_by_span_length),
            "",
            *_table("example length (tokens)", self.mlm_by_example_length),
        ]
        return "\n".join(lines)

    def _mlm_line(self) -> str:
        return f"MLM accuracy {self.mlm_accuracy:.1%} (majority-token baseline {self.majority_token_accuracy:.1%})"

    def _clm_lines(self) -> list[str]:
        if self.clm_accuracy is None or self.clm_loss is None:
            return []
        return [f"next-token accuracy {self.clm_accuracy:.1%}, perplexity {perplexity(self.clm_loss):,.1f}"]

    def _pair_lines(self) -> list[str]:
        return [
            f"{PAIR_NAMES[name]} accuracy {pairs.accuracy:.1%} "
            f"(95 % interval {pairs.interval[0]:.1%} to {pairs.interval[1]:.1%}, chance 50 %)"
            for name, pairs in self.sentence_pairs.items()
        ]


def perplexity(loss: float) -> float:
    """The exponential of a mean cross-entropy; e^700, which a float can hold, for any larger loss."""
    return math.exp(min(loss, 700))


def _groups(values: Mapping[str, Number], names: Mapping[str, object], *, prefix: str) -> dict[str, Accuracy]:
    """The groups that have a masked token, by short name: `4 or more`, `33 to 64`."""
    return {
        name.removeprefix(prefix).replace("_", " "): Accuracy.of(values, name)
        for name in names
        if f"{name}_count" in values
    }


def _table(title: str, groups: Mapping[str, Accuracy]) -> list[str]:
    rows = [f"  {name:<28}{group.accuracy:>9.1%}{group.count:>12,}" for name, group in groups.items()]
    return [f"  {title:<28}{'accuracy':>9}{'masked':>12}", *rows]
