"""Entities in label sequences, and precision, recall and F1 of predicted entities.

Source: conlleval, which accepts the schemes with B- and I-, with or without E- and S-.
"""

from collections.abc import Sequence
from typing import Final

Entity = tuple[str, int, int]
"""Type, first word, and the word after the last."""

_BEGINS: Final = ("B", "S")
_ENDS: Final = ("E", "S")


def entities(tags: Sequence[str]) -> set[Entity]:
    """The entities of one sentence; an I- that follows no entity of its type starts one."""
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
    """Precision, recall and F1 of entities with the same boundaries and type, over all sentences; 0 without any."""
    correct = num_predicted = num_true = 0
    for one, other in zip(predicted, true, strict=True):
        found, expected = entities(one), entities(other)
        correct += len(found & expected)
        num_predicted += len(found)
        num_true += len(expected)
    precision, recall = correct / max(num_predicted, 1), correct / max(num_true, 1)
    f1 = 2 * correct / max(num_predicted + num_true, 1)
    return {"entity_f1": f1, "entity_precision": precision, "entity_recall": recall}
