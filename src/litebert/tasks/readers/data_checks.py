"""Labelled rows that are odd but not wrong, said in one line each. Before: readers of files. After: a person.

Rows that repeat teach little more than one; rows that contradict each other cannot all be learnt; development rows that
training has too are scored from memory. Nothing is left out: which row is right only a person knows. Texts are compared
as an uncased model reads them, since no tokenizer is chosen yet; to one that keeps case or accents they may differ.
"""

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.tasks.labelled_data import LabelledData

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Repeats:
    """Examples that ask what an earlier one asked, by their positions; any other asks something new."""

    same: tuple[int, ...]
    """Those with an answer that was given before."""
    other: tuple[tuple[int, int], ...]
    """(the first that asked it, one with an answer that is new)."""


def find_repeats(examples: Sequence[Any]) -> Repeats:
    """Which examples repeat or contradict an earlier one."""
    first: dict[Hashable, int] = {}
    known: set[Hashable] = set()
    same, other = [], []
    for index, example in enumerate(examples):
        answered = (example.asked, example.told)
        earlier = first.setdefault(answered[0], index)
        if answered in known:
            same.append(index)
        elif earlier < index:
            other.append((earlier, index))
        known.add(answered)
    return Repeats(tuple(same), tuple(other))


def mention_repeats(path: Path, examples: Sequence[Any], lines: Sequence[int] | None = None) -> None:
    """Warn of labelled rows that repeat or contradict an earlier one.

    `lines` are those of the file on which the examples begin; without them they are named by their ids.
    """
    if any(example.told is None for example in examples):
        return
    found, count = find_repeats(examples), len(examples)
    said = [f"{len(found.same)} of {count} rows repeat an earlier one"] if found.same else []
    if found.other:
        pair = " and ".join(f"{path}:{lines[index]}" if lines else repr(examples[index].id) for index in found.other[0])
        contradict = f"{len(found.other)} of {count} contradict an earlier one"
        said.append(f"{contradict} (the same to an uncased model, another label), first {pair}")
    if said:
        logger.warning("%s: %s; all are kept", path, "; ".join(said))


def mention_shared(train: LabelledData, development: LabelledData) -> None:
    """Warn of development rows whose text is one of those trained on."""
    answered = {(example.asked, example.told) for example in train.examples}
    known = {asked for asked, _ in answered}
    shared = [pair for pair in ((each.asked, each.told) for each in development.examples) if pair[0] in known]
    if shared:
        logger.warning(
            "%s: %d of %d development rows have the text of a row in %s, and %d of them its label too; "
            "they can be answered from memory: where the files are yours, take them out of one",
            *(development.path, len(shared), len(development.examples), train.path),
            sum(pair in answered for pair in shared),
        )


def mention_few(train: LabelledData, *, batch_size: int) -> None:
    """Warn of fewer rows than fill a batch, or than two for each label."""
    labels = len(train.labels or ()) if train.kind == "classification" else 0
    least = {f"2 for each of {labels} labels": 2 * labels, f"one batch (batch_size {batch_size})": batch_size}
    missed = [name for name, rows in least.items() if len(train.examples) < rows]
    if missed:
        count = len(train.examples)
        logger.warning(
            "%s: %d rows to learn from, fewer than %s; expect little", train.path, count, " and ".join(missed)
        )
