"""Labelled examples in memory, and the task that a model learns from them."""

import hashlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from litebert.tokenization.normalize import normalize

Target = int | float | tuple[float, ...]
"""Index of a label, a score, or a 0 or 1 for each label."""
InvalidAnswers = Literal["error", "skip"]
"""What to do with an answer that its context does not contain: raise DataError, or skip and count it."""
UnlabelledRows = Literal["error", "skip"]
"""What to do with a row whose label is empty: raise DataError, or skip and count it."""

ClassWeights = str | dict[str, float]
"""`balanced`, or a weight for each label that does not have weight 1."""


class LabelledExample(Protocol):
    """What the examples of every task type have in common."""

    @property
    def texts(self) -> Sequence[str | None]:
        """Every text the model reads."""

    @property
    def target(self) -> Any:
        """The label, None where it is unknown."""

    @property
    def identity(self) -> Sequence[Any]:
        """Everything of the example that is trained on, for fingerprints."""

    @property
    def split_key(self) -> Hashable:
        """Examples with the same key stay on one side of a train/dev split, unless they have a `group`."""

    @property
    def group(self) -> str | None:
        """Examples of one group (a document, a user) stay on one side of a train/dev split."""

    @property
    def slice(self) -> str | None:
        """Examples of one slice (a genre, a level) are also scored separately."""

    @property
    def id(self) -> str | None:
        """Name of the example in its file."""


def group_of(example: LabelledExample) -> Hashable:
    """Examples that depend on each other have the same one: that of their data, or their text or context."""
    return example.split_key if example.group is None else example.group


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A text or a pair of texts."""

    text: str
    text_pair: str | None = None
    target: Target | None = None
    soft_label: tuple[float, ...] | None = None
    """The probability of each label, which training reads in the place of `target`; metrics read `target`."""
    group: str | None = None
    slice: str | None = None
    id: str | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The text and its pair."""
        return self.text, self.text_pair

    @property
    def identity(self) -> tuple[Any, ...]:
        """Texts and what is trained on."""
        return *self.texts, self.target if self.soft_label is None else self.soft_label

    @property
    def split_key(self) -> Hashable:
        """Texts that an uncased model reads alike stay together."""
        return input_key(self)

    def to_text(self) -> str:
        """The texts, a line each."""
        return self.text if self.text_pair is None else f"{self.text}\n{self.text_pair}"


def training_targets(examples: Sequence[Example]) -> list[Target | None]:
    """What the loss reads: the targets, or if an example has a soft label the probability of each label for all."""
    num_labels = max((len(each.soft_label) for each in examples if each.soft_label is not None), default=0)
    return [_with_probabilities(each, num_labels) if num_labels else each.target for each in examples]


def label_masses(examples: Sequence[Example], num_labels: int) -> np.ndarray:
    """Float64 [C]: how many examples have each label, each counted by its probability."""
    targets = np.array(training_targets(examples))
    counts = targets.sum(0) if targets.ndim == 2 else np.bincount(targets, minlength=num_labels)
    return counts.astype(np.float64)


def _with_probabilities(example: Example, num_labels: int) -> tuple[float, ...]:
    """The soft label of an example, or 1 for its label."""
    if example.soft_label is not None:
        return example.soft_label
    target = example.target
    return target if isinstance(target, tuple) else tuple(float(index == target) for index in range(num_labels))


@dataclass(frozen=True, slots=True)
class LabelledData:
    """The examples of one file, in its order."""

    path: Path
    task_type: str
    """Name of a registered `TaskType`."""
    examples: tuple[Any, ...]
    """`LabelledExample`s of this task type."""
    labels: tuple[str, ...] | None
    """Label names by index; None for task types without classes."""
    reason: str
    """Why the file was read as this task type."""
    lines: tuple[int, ...] | None = None
    """Line of each example in the file, from 1; None: the examples have ids."""
    text_pair: str | None = None
    """Column of the second texts, if a table has them."""

    @property
    def targets(self) -> np.ndarray:
        """The targets of all examples."""
        return np.array([example.target for example in self.examples])

    @property
    def places(self) -> tuple[str, ...]:
        """Line of each example in the file, or its id; empty without either."""
        return tuple(map(str, self.lines)) if self.lines else tuple(each.id or "" for each in self.examples)

    @property
    def class_names(self) -> tuple[str | None, ...]:
        """The name of the class of each example; None for other targets."""
        targets = [example.target for example in self.examples]
        return tuple(self.labels[each] if self.labels and isinstance(each, int) else None for each in targets)

    @property
    def fingerprint(self) -> str:
        """Hexadecimal digest of what is trained on and of the label names, in their order."""
        result = hashlib.sha256(json.dumps(self.labels).encode())
        for example in self.examples:
            result.update(f"\n{json.dumps(example.identity)}".encode())
        return result.hexdigest()

    @property
    def has_labels(self) -> bool:
        """Whether every example has a target; those of test files usually have none."""
        return all(example.target is not None for example in self.examples)


@lru_cache(maxsize=1024)  # consecutive questions have the same context
def normalized_text(text: str) -> str:
    """The text as an uncased model reads it: lower case, without accents."""
    return normalize(text, lowercase=True, keep_accents=False)


def input_key(example: LabelledExample) -> Hashable:
    """Two examples with the same key are the same input to an uncased model."""
    return tuple(None if text is None else normalized_text(text) for text in example.texts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Columns, labels and metrics of a labelled file."""

    task_type: str
    """Name of a registered `TaskType`."""
    text: tuple[str, ...]
    """Columns of the one or two texts of an example."""
    label: str
    """Column of the label."""
    labels: tuple[str, ...] | None
    """Label names; the index in this tuple is the class. None for task types without classes."""
    metrics: tuple[str, ...]
    """Names of metrics, keys of `litebert.tasks.metrics.metrics.METRICS`."""
    metric_for_best_model: str
    """The one of `metrics` that selects the best model; higher is better."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice, where they are named."""
