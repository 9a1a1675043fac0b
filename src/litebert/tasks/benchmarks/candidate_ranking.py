"""Pairwise ranking: of the candidates of one first text a single one is positive, as in submissions for QNLI.

Candidates are the pairs of the benchmark's files with the same first text. Source: Liu et al. (2019), RoBERTa, section
5.1, which the paper follows for its submission; development results stay those of pure classification there.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit, available_splits
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS, benchmark_task
from litebert.tasks.labelled_data import Example

Predict = Callable[[Sequence[Example]], Sequence[np.ndarray]]
"""Examples → the probabilities of both labels."""


def validate_ranked(*tasks: str) -> None:
    """Raise ConfigError unless the candidates of one of these benchmarks can be ranked."""
    if not any(benchmark_task(task).ranked_label for task in tasks):
        known = ", ".join(name for name, row in BENCHMARKS.items() if row.ranked_label)
        raise ConfigError(f"decision: {', '.join(tasks)}: has no candidates to rank, only {known}; leave it out")


def predict_ranked(
    split: BenchmarkSplit, directory: Path, examples: Sequence[Example], *, labels: Sequence[str], predict: Predict
) -> list[np.ndarray]:
    """The predictions for the examples of a split after their ranking; `labels` are in the order of `predict`."""
    candidates = [*examples, *other_candidates(split, directory, examples)]
    positive = list(labels).index(str(benchmark_task(split.task).ranked_label))
    return rank_candidates(predict(candidates), candidates, positive=positive)[: len(examples)]


def other_candidates(split: BenchmarkSplit, directory: Path, examples: Sequence[Example]) -> list[Example]:
    """The pairs of the benchmark's other files with the first text of an example, each once, without their labels.

    The official file of the split is one of them where the examples are those of a file of your own.
    """
    own = split.path(directory)
    questions, seen = {each.text for each in examples}, {each.texts for each in examples}
    found = []
    for name in available_splits(split.task, directory, start=""):
        other = BenchmarkSplit(task=split.task, split=name)
        if other.path(directory).samefile(own):
            continue
        for each in other.read(directory).examples:
            if each.text in questions and each.texts not in seen:
                seen.add(each.texts)
                found.append(replace(each, target=None))
    return found


def independent_decisions(examples: Sequence[Example]) -> float:
    """The effective number of decisions after a ranking: as many independent ones vary the accuracy as much.

    Two pairs of one first text are both right or both wrong. Source: Kish (1965), with an intraclass correlation of 1.
    """
    counts = Counter(each.text for each in examples).values()
    return len(examples) ** 2 / sum(count * count for count in counts)


def rank_candidates(
    probabilities: Sequence[np.ndarray], examples: Sequence[Example], *, positive: int
) -> list[np.ndarray]:
    """Probability 1 of the positive label for the best candidate of each first text, and of the other for the rest.

    The first of equals is the best. A pair without other candidates keeps its probabilities.
    """
    by_text: dict[str, list[int]] = defaultdict(list)
    for index, each in enumerate(examples):
        by_text[each.text].append(index)
    ranked = list(probabilities)
    for candidates in by_text.values():
        if len(candidates) > 1:
            best = max(candidates, key=lambda index: probabilities[index][positive])
            for index in candidates:
                ranked[index] = np.eye(2, dtype=probabilities[index].dtype)[positive if index == best else 1 - positive]
    return ranked
