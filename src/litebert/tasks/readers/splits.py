"""Splitting the training data into training and development examples, and warnings about data.

Warnings are about data that is valid but suspicious: duplicates, contradictions, leakage, small data sets, labels that
may be one label or none. No row is removed and no label changed, because only their author knows what is correct. Texts
are compared as an uncased model reads them; to a cased model they may differ.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.randomness import rng_for
from litebert.tasks.labelled_data import LabelledData, LabelledExample, group_of, input_key
from litebert.tasks.readers.label_columns import NUMBER

logger = logging.getLogger(__name__)

MISSING_VALUES: Final = frozenset(("na", "n/a", "#n/a", "<na>", "nan", "null", "none"))
"""Words for a missing value, in lower case. Source: `na_values` of pandas' `read_csv`, without rare ones."""
MAX_SHOWN: Final = 5
"""Labels, or groups of labels, that a warning names."""


def train_dev_split(
    data: LabelledData, fraction: float, *, seed: int, strata: Sequence[Hashable] | None = None
) -> tuple[LabelledData, LabelledData]:
    """(training, development): whole groups, drawn by `seed`, so that `fraction` of each stratum is in the second.

    Without groups, examples of the same text form one, so that no text is in both. The order of the file is kept.
    Examples with a soft label, whose true one is not known, are training examples, and so are those of their groups.

    Args:
        data: the examples.
        fraction: share of the development examples.
        seed: of the draw.
        strata: for each example its stratum, such as its label; None: all are in one stratum. A stratum of two groups
            or more has examples in both parts.
    """
    strata = strata or [None] * len(data.examples)
    groups = _groups(data.examples)
    rows = "rows with a label" if sum(map(len, groups)) < len(data.examples) else "rows"
    if not groups:
        raise DataError(
            f"{data.path}: every row, or one of its group, has probabilities instead of a label, which cannot score a "
            "model; give a development file with labels (--dev)"
        )
    if len(groups) == 1:
        raise DataError(
            f"{data.path}: all {rows} are in one group, which cannot be split; give a development file (--dev)"
        )
    by_stratum: dict[Hashable, list[list[int]]] = {}
    for position in rng_for(seed, "held out").permutation(len(groups)):
        group = groups[position]
        stratum, _ = Counter(strata[index] for index in group).most_common(1)[0]
        by_stratum.setdefault(stratum, []).append(group)
    chosen = {index for drawn in by_stratum.values() for index in _drawn_groups(drawn, fraction)}
    if not chosen:  # each stratum is one group
        chosen = set(min(groups, key=len))
    logger.info(
        "%s: %d of %d rows are the development set, which selects the best model; --dev takes a file instead",
        data.path,
        len(chosen),
        len(data.examples),
    )
    train, dev = ([i for i in range(len(data.examples)) if (i in chosen) is inside] for inside in (False, True))
    _warn_labels_not_in_dev(data, dev)
    return _part(data, train), _part(data, dev)


def _warn_labels_not_in_dev(data: LabelledData, dev: Sequence[int]) -> None:
    """Warn of labels all of whose rows are training rows: a single row, or rows that stay together."""
    targets = [example.target for example in data.examples]
    if data.labels is None or not all(isinstance(target, int) for target in targets):
        return
    rows, in_dev = Counter(targets), {targets[index] for index in dev}
    missing = [
        f"label {data.labels[target]!r} has {count} {'row' if count == 1 else 'rows'}"
        for target, count in sorted(rows.items())
        if target not in in_dev
    ]
    if missing:
        logger.warning("%s: %s, and none in the development set", data.path, _shown(missing))


def _drawn_groups(groups: Sequence[Sequence[int]], fraction: float) -> Sequence[int]:
    """Examples of groups that together come closest to the share, at least the smallest group; none of a single one."""
    if len(groups) == 1:
        return ()
    wanted = fraction * sum(map(len, groups))
    chosen: list[int] = []
    left = len(groups)
    for group in groups:
        if left > 1 and len(chosen) + len(group) / 2 <= wanted:
            chosen += group
            left -= 1
    return chosen or min(groups, key=len)


def _groups(examples: Sequence[LabelledExample]) -> list[list[int]]:
    """Positions of the examples of each group, or with the same text where there are no groups.

    Groups with a soft label are left out.
    """
    members: dict[Hashable, list[int]] = {}
    for index, example in enumerate(examples):
        members.setdefault(group_of(example), []).append(index)
    soft = {index for index, each in enumerate(examples) if getattr(each, "soft_label", None) is not None}
    return [group for group in members.values() if soft.isdisjoint(group)]


def _part(data: LabelledData, positions: Sequence[int]) -> LabelledData:
    lines = None if data.lines is None else tuple(data.lines[index] for index in positions)
    return replace(data, examples=tuple(data.examples[index] for index in positions), lines=lines)


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Positions of examples with the same input as an earlier one."""

    repeated: tuple[int, ...]
    """Those whose target occurred with this input before."""
    contradicting: tuple[tuple[int, int], ...]
    """(the first example with this input, one with another target)."""


def find_duplicates(examples: Sequence[LabelledExample]) -> Duplicates:
    """Which examples repeat or contradict an earlier one."""
    first: dict[Hashable, int] = {}
    seen: set[Hashable] = set()
    repeated, contradicting = [], []
    for index, example in enumerate(examples):
        key = input_key(example)
        earlier = first.setdefault(key, index)
        if (key, example.target) in seen:
            repeated.append(index)
        elif earlier < index:
            contradicting.append((earlier, index))
        seen.add((key, example.target))
    return Duplicates(tuple(repeated), tuple(contradicting))


def warn_duplicates(path: Path, examples: Sequence[LabelledExample], lines: Sequence[int] | None = None) -> None:
    """Warn of labelled examples that repeat or contradict an earlier one.

    `lines` are the lines of the examples; without them the warning shows their ids.
    """
    if any(example.target is None for example in examples):
        return
    found, count = find_duplicates(examples), len(examples)
    messages = [f"{len(found.repeated)} of {count} rows repeat an earlier one"] if found.repeated else []
    if found.contradicting:
        pair = found.contradicting[0]
        shown = " and ".join(f"{path}:{lines[index]}" if lines else repr(examples[index].id) for index in pair)
        contradict = f"{len(found.contradicting)} of {count} contradict an earlier one"
        messages.append(f"{contradict} (the same text to an uncased model, another label), first {shown}")
    if messages:
        logger.warning("%s: %s; all are used", path, "; ".join(messages))


def warn_train_dev_leakage(train: LabelledData, dev: LabelledData) -> None:
    """Warn of development examples whose text is in the training data."""
    pairs = {(input_key(example), example.target) for example in train.examples}
    inputs = {key for key, _ in pairs}
    leaked = [pair for pair in ((input_key(each), each.target) for each in dev.examples) if pair[0] in inputs]
    if leaked:
        logger.warning(
            "%s: %d of %d development rows have the text of a row in %s, and %d of them its label too, so scores "
            "overestimate; remove them from one of the files",
            dev.path,
            len(leaked),
            len(dev.examples),
            train.path,
            sum(pair in pairs for pair in leaked),
        )


def warn_small_dataset(train: LabelledData, *, batch_size: int) -> None:
    """Warn of fewer training examples than a batch, or than two for each label."""
    labels = len(train.labels or ()) if all(isinstance(each.target, int) for each in train.examples) else 0
    minimum = {f"2 for each of {labels} labels": 2 * labels, f"one batch (batch_size {batch_size})": batch_size}
    missed = [name for name, rows in minimum.items() if len(train.examples) < rows]
    if missed:
        logger.warning(
            "%s: %d training rows, fewer than %s; expect low scores",
            train.path,
            len(train.examples),
            " and ".join(missed),
        )


def warn_labels(path: Path, labels: Sequence[str]) -> None:
    """Warn of distinct labels that may be one label, or that stand for a missing one."""
    for kind, key in (("that differ in case only", str.casefold), ("that are the same number", _number)):
        if groups := _groups_of_labels(labels, key):
            shown = _shown([" and ".join(map(repr, group)) for group in groups])
            logger.warning("%s: labels %s: %s; each is a class, so write alike what is one label", path, kind, shown)
    if missing := [label for label in labels if label.casefold() in MISSING_VALUES]:
        shown = _shown(list(map(repr, missing)))
        logger.warning(
            "%s: labels that look like a missing value: %s; each is a class, so remove the rows without a label",
            path,
            shown,
        )


def _groups_of_labels(labels: Sequence[str], key: Callable[[str], Hashable | None]) -> list[list[str]]:
    """Two labels or more with the same key, in the order of their first label; labels without a key are left out."""
    groups: dict[Hashable, list[str]] = {}
    for label in labels:
        if (common := key(label)) is not None:
            groups.setdefault(common, []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def _number(label: str) -> float | None:
    """The finite number that a label is written as, if any."""
    value = float(label) if NUMBER.fullmatch(label) else math.inf
    return value if math.isfinite(value) else None


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")
