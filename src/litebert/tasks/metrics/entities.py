"""Entities in sequences of tags, and how many of them are found. Before: tags. After: `metrics`.

Source: the rules of conlleval, which read every scheme of prefixes: B- and I-, with or without E- and S-.
"""

from collections.abc import Sequence
from typing import Final

Entity = tuple[str, int, int]
"""Type, first word, and the word after the last."""

_BEGINS: Final = ("B", "S")
_ENDS: Final = ("E", "S")


def entities(tags: Sequence[str]) -> set[Entity]:
    """The entities that the tags of one sentence mark; an I- after nothing of its type begins one."""
    found: set[Entity] = set()
    start = 0
    before = ("O", "")
    for index, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        continues = prefix not in (*_BEGINS, "O") and before[0] not in (*_ENDS, "O") and name == before[1]
        if before[0] != "O" and not continues:
            found.add((before[1], start, index))
        if not continues:
            start = index
        before = (prefix, name)
    return found


def entity_scores(predicted: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 of entities with their exact limits and type, over all sentences; 0 without any."""
    right = guessed = wanted = 0
    for one, other in zip(predicted, true, strict=True):
        ours, theirs = entities(one), entities(other)
        right, guessed, wanted = right + len(ours & theirs), guessed + len(ours), wanted + len(theirs)
    precision, recall = right / max(guessed, 1), right / max(wanted, 1)
    f1 = 2 * right / max(guessed + wanted, 1)
    return {"entity_f1": f1, "entity_precision": precision, "entity_recall": recall}
