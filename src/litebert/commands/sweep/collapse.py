"""Which runs have learned nothing. Before: the evaluation of a run's best model. After: `sweep`, which restarts them.

Fine-tuning sometimes ends at one answer for everything, or at answers that have nothing to do with the question.
"""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any, Final

import numpy as np

from litebert.tasks.task_type import Kind

LEAST_ANSWER_F1: Final = 1.0
"""Percent below which an answerer of questions finds nothing."""


def collapse(kind: Kind, evaluation: Mapping[str, Any]) -> str | None:
    """Why the model of this evaluation counts as collapsed; None for one that has learned something.

    `evaluation` is that of the kept model, as `FinetuneResult.best` holds it.
    """
    return _CHECKS[kind](evaluation)


def correlation(confusion: Sequence[Sequence[int]]) -> float:
    """Matthews correlation of counts by [true][predicted]: 0 for answers that ignore the question.

    Source: Gorodkin (2004), for any number of labels.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    total, true, predicted = counts.sum(), counts.sum(1), counts.sum(0)
    spread = (total**2 - (true**2).sum()) * (total**2 - (predicted**2).sum())
    return float((np.trace(counts) * total - true @ predicted) / sqrt(spread)) if spread else 0.0


def _classes(evaluation: Mapping[str, Any]) -> str | None:
    confusion = evaluation["confusion_matrix"]
    given = [
        name for name, column in zip(evaluation["labels"], zip(*confusion, strict=True), strict=True) if any(column)
    ]
    if len(given) == 1:
        return f"answers {given[0]!r} to everything"
    return _unrelated("Matthews correlation", correlation(confusion), evaluation["examples"])


def _scores(evaluation: Mapping[str, Any]) -> str | None:
    name, value = max(evaluation["metrics"].items(), key=lambda item: item[1])
    return _unrelated(name, value, evaluation["examples"])


def _unrelated(name: str, value: float, examples: int) -> str | None:
    """A correlation of unrelated answers scatters around 0 by 1 / √examples; twice that is not yet anything."""
    noise = 2 / sqrt(examples)
    return f"answers at chance ({name} {value:.3f}, chance reaches {noise:.3f})" if value <= noise else None


def _found_by_label(evaluation: Mapping[str, Any]) -> str | None:
    figures = [
        value for part in evaluation["by_label"] for name, value in part["metrics"].items() if name.endswith("f1")
    ]
    return "finds no label of any row" if figures and not any(figures) else None


def _answers(evaluation: Mapping[str, Any]) -> str | None:
    answerable = [part for part in evaluation["by_slice"] if part["name"] == "with an answer"]
    metrics = answerable[0]["metrics"] if answerable else evaluation["metrics"]
    found = max(metrics.values())
    return f"finds no answer ({found:.2f} % on questions that have one)" if found < LEAST_ANSWER_F1 else None


_CHECKS: Final[dict[Kind, Callable[[Mapping[str, Any]], str | None]]] = {
    "classification": _classes,
    "regression": _scores,
    "multi_label": _found_by_label,
    "multiple_choice": _classes,
    "tokens": _found_by_label,
    "spans": _answers,
    "answerability": _answers,
}
