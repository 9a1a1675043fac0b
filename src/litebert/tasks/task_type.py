"""A task is a row of data: which columns hold what, how success is measured.

Before: nothing. After: features, kinds, runs.
"""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["classification", "regression", "multi_label", "multiple_choice", "tokens", "spans", "answerability"]
"""What is asked of each example: one label, a number, any number of labels, the best of some options, a label for each
word, the words that answer a question, or those words if there are any."""
QUESTIONS: Final[tuple[Kind, ...]] = ("spans", "answerability")
"""The kinds whose rows are a question and the text with its answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What to learn from labelled files."""

    kind: Kind
    """What is asked of each example."""
    text: tuple[str, ...]
    """What the one or two texts of an example are called."""
    label: str
    """What the label or score is called."""
    labels: tuple[str, ...] | None
    """Label names; the index in this tuple is the class. None where the answer is no class."""
    metrics: tuple[str, ...]
    """Names of metrics, such as those in `litebert.tasks.metrics.metrics.METRICS`."""
    metric_for_best_model: str
    """The one of `metrics` that chooses the best model; higher is better."""
