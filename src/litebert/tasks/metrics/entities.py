"""Entities in label sequences, and precision, recall and F1 of predicted entities.

Source: conlleval, which accepts the schemes with B- and I-, with or without E- and S-; here also L- and U- (BILOU) and
M- (BMES). A tag without such a prefix, such as `NOUN`, is a type: a run of equal tags is one entity. A letter alone,
such as `B`, is a prefix where all tags have one, as in word segmentation, and otherwise a type, as in XPOS tags.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

Entity = tuple[str, int, int]
"""Type, first word, and the word after the last."""

_OUTSIDE: Final = "O"
_BEGINS: Final = ("B", "S", "U")
_ENDS: Final = ("E", "S", "L", "U")
_PREFIXES: Final = frozenset((*_BEGINS, *_ENDS, "I", "M"))


def has_prefix(tag: str) -> bool:
    """Whether the tag says where an entity begins or continues, as `B-PER` or `I` do, rather than only a type."""
    return tag.partition("-")[0] in _PREFIXES


def all_have_prefixes(tags: Iterable[str]) -> bool:
    """Whether every tag has a prefix, but those outside of entities, so that a letter alone is one."""
    return all(has_prefix(tag) for tag in tags if tag != _OUTSIDE)


def tag_parts(tag: str, *, letters: bool = True) -> tuple[str, str]:
    """Prefix and type: B and PER of `B-PER`, O and nothing of `O`, I and NOUN of `NOUN`.

    `letters`: whether a letter alone is a prefix.
    """
    if tag == _OUTSIDE:
        return _OUTSIDE, ""
    if not has_prefix(tag) or (len(tag) == 1 and not letters):
        return "I", tag
    prefix, _, name = tag.partition("-")
    return prefix, name


def entities(tags: Sequence[str], *, letters: bool = True) -> set[Entity]:
    """The entities of one sentence; an I- that follows no entity of its type starts one.

    `letters` as in `tag_parts`.
    """
    found: set[Entity] = set()
    start = 0
    before = (_OUTSIDE, "")
    for index, tag in enumerate([*tags, _OUTSIDE]):
        prefix, name = tag_parts(tag, letters=letters)
        continues = prefix not in (*_BEGINS, _OUTSIDE) and before[0] not in (*_ENDS, _OUTSIDE) and name == before[1]
        if before[0] != _OUTSIDE and not continues:
            found.add((before[1], start, index))
        if not continues:
            start = index
        before = (prefix, name)
    return found


def entity_scores(
    predicted: Sequence[Sequence[str]], true: Sequence[Sequence[str]], *, letters: bool | None = None
) -> dict[str, float]:
    """Precision, recall and F1 of entities with the same boundaries and type, over all sentences; 0 without any.

    `letters` as in `tag_parts`; None: whether all these tags have prefixes.
    """
    if letters is None:
        letters = all_have_prefixes(chain.from_iterable((*predicted, *true)))
    correct = num_predicted = num_true = 0
    for one, other in zip(predicted, true, strict=True):
        found, expected = entities(one, letters=letters), entities(other, letters=letters)
        correct += len(found & expected)
        num_predicted += len(found)
        num_true += len(expected)
    precision, recall = correct / max(num_predicted, 1), correct / max(num_true, 1)
    f1 = 2 * correct / max(num_predicted + num_true, 1)
    return {"entity_f1": f1, "entity_precision": precision, "entity_recall": recall}
