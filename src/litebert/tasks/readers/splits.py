"""A fraction of the training rows held out for evaluation. Before: a reader. After: `encoded`."""

import logging
from collections.abc import Hashable
from dataclasses import replace

from litebert.errors import DataError
from litebert.randomness import rng_for
from litebert.tasks.labelled_data import LabelledData

logger = logging.getLogger(__name__)


def hold_out(data: LabelledData, fraction: float, *, seed: int) -> tuple[LabelledData, LabelledData]:
    """(training, held out): whole groups, drawn by `seed`, until `fraction` of the rows is held out.

    Without groups, rows of the same text make one, so that no text is on both sides. The order of the file is kept.
    """
    members: dict[Hashable, list[int]] = {}
    for index, example in enumerate(data.examples):
        members.setdefault(example.key, []).append(index)
    if len(members) == 1:
        raise DataError(f"{data.path}: all rows are one group, which is not split; give a file for evaluation")
    groups = list(members.values())
    held_out: set[int] = set()
    for group in rng_for(seed, "held out").permutation(len(groups)):
        leaves_some = len(held_out) + len(groups[group]) < len(data.examples)
        if leaves_some and len(held_out) < fraction * len(data.examples):
            held_out.update(groups[group])
    logger.info(
        "%s: %d of %d rows are held out, to choose the best model by; --dev takes a file instead",
        *(data.path, len(held_out), len(data.examples)),
    )
    return _part(data, held_out, inside=False), _part(data, held_out, inside=True)


def _part(data: LabelledData, indices: set[int], *, inside: bool) -> LabelledData:
    kept = tuple(example for index, example in enumerate(data.examples) if (index in indices) == inside)
    return replace(data, examples=kept)
