"""Splitting the training data into training and development examples."""

import logging
from collections.abc import Hashable
from dataclasses import replace

from litebert.errors import DataError
from litebert.randomness import rng_for
from litebert.tasks.labelled_data import LabelledData

logger = logging.getLogger(__name__)


def train_dev_split(data: LabelledData, fraction: float, *, seed: int) -> tuple[LabelledData, LabelledData]:
    """(training, development): whole groups, drawn by `seed`, until `fraction` of the examples is in the second.

    Without groups, examples of the same text form one, so that no text is in both. The order of the file is kept.
    """
    members: dict[Hashable, list[int]] = {}
    for index, example in enumerate(data.examples):
        members.setdefault(example.group if example.group is not None else example.split_key, []).append(index)
    if len(members) == 1:
        raise DataError(
            f"{data.path}: all rows are in one group, which cannot be split; give a development file (--dev)"
        )
    groups = list(members.values())
    chosen: set[int] = set()
    for group in rng_for(seed, "held out").permutation(len(groups)):
        leaves_some = len(chosen) + len(groups[group]) < len(data.examples)
        if leaves_some and len(chosen) < fraction * len(data.examples):
            chosen.update(groups[group])
    logger.info(
        "%s: %d of %d rows are the development set, which selects the best model; --dev takes a file instead",
        *(data.path, len(chosen), len(data.examples)),
    )
    return _part(data, chosen, inside=False), _part(data, chosen, inside=True)


def _part(data: LabelledData, indices: set[int], *, inside: bool) -> LabelledData:
    part = tuple(example for index, example in enumerate(data.examples) if (index in indices) == inside)
    return replace(data, examples=part)
