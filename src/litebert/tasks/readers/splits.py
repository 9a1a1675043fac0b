"""Splitting the training data into training and development examples."""

import logging
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from litebert.errors import DataError
from litebert.randomness import rng_for
from litebert.tasks.labelled_data import LabelledData, LabelledExample

logger = logging.getLogger(__name__)


def train_dev_split(
    data: LabelledData, fraction: float, *, seed: int, strata: Sequence[Hashable] | None = None
) -> tuple[LabelledData, LabelledData]:
    """(training, development): whole groups, drawn by `seed`, so that `fraction` of each stratum is in the second.

    Without groups, examples of the same text form one, so that no text is in both. The order of the file is kept.

    Args:
        data: the examples.
        fraction: share of the development examples.
        seed: of the draw.
        strata: for each example its stratum, such as its label; None: all are in one stratum. A stratum of two groups
            or more has examples in both parts.
    """
    strata = strata or [None] * len(data.examples)
    groups = _groups(data.examples)
    if len(groups) == 1:
        raise DataError(
            f"{data.path}: all rows are in one group, which cannot be split; give a development file (--dev)"
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
        *(data.path, len(chosen), len(data.examples)),
    )
    train, dev = ([i for i in range(len(data.examples)) if (i in chosen) is inside] for inside in (False, True))
    return _part(data, train), _part(data, dev)


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
    """Positions of the examples of each group, or with the same text where there are no groups."""
    members: dict[Hashable, list[int]] = {}
    for index, example in enumerate(examples):
        members.setdefault(example.group if example.group is not None else example.split_key, []).append(index)
    return list(members.values())


def _part(data: LabelledData, positions: Sequence[int]) -> LabelledData:
    lines = None if data.lines is None else tuple(data.lines[index] for index in positions)
    return replace(data, examples=tuple(data.examples[index] for index in positions), lines=lines)
