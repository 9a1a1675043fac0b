"""Where the windows over a long document lie, and which of them sees each piece best. After: `squad_features`.

Source: `convert_examples_to_features` and `_check_is_max_context` of the original's squad_utils.py.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from litebert.tokenization.subwords import Span


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """One window over a document."""

    pieces: Span
    """Half-open span of the document's pieces."""
    max_context: Span
    """Half-open span of the pieces for which no other window has more context; it lies inside `pieces`."""


@lru_cache(maxsize=65536)
def plan_windows(length: int, *, room: int, stride: int) -> tuple[WindowPlan, ...]:
    """Windows of at most `room` pieces, each `stride` pieces after the one before, over `length` pieces.

    There is always one, empty over an empty document, so that no question is ever lost.
    """
    spans = [(0, min(length, room))]
    while spans[-1][1] < length:
        start = spans[-1][0] + min(room, stride)
        spans.append((start, min(length, start + room)))
    return tuple(map(WindowPlan, spans, _seen_best(spans)))


def _seen_best(spans: list[Span]) -> list[Span]:
    """A piece is seen best where the shorter side of its context is longest; a longer window counts a little more.

    The pieces that a window sees best follow each other, since that difference only falls from one window to the next.
    """
    if len(spans) == 1:
        return spans
    starts, stops = np.array(spans).T[..., None]
    pieces = np.arange(stops.max())
    scores = np.minimum(pieces - starts, stops - 1 - pieces) + 0.01 * (stops - starts)
    inside = (starts <= pieces) & (pieces < stops)
    best = np.where(inside, scores, -np.inf).argmax(0)
    edges = np.searchsorted(best, np.arange(len(spans) + 1))
    return [(int(first), int(stop)) for first, stop in pairwise(edges)]
