"""Which of several models to average. Before: their predictions for labelled rows. After: `ensemble`.

The paper's ensembles hold 6 to 17 checkpoints chosen on development rows.
"""

from collections.abc import Callable, Sequence
from typing import Literal

Selection = Literal["all", "forward"]


def forward(count: int, score: Callable[[Sequence[int]], float]) -> list[int]:
    """Indices of the members: begin with the best one, add the one that helps most, stop when none helps.

    Of equals the first is taken. `score` says how good the ensemble of some indices is.
    Source: Caruana et al. (2004), without repetition.
    """
    chosen: list[int] = []
    best = -float("inf")
    while len(chosen) < count:
        scores = {index: score(sorted([*chosen, index])) for index in range(count) if index not in chosen}
        found = max(scores, key=scores.__getitem__)
        if scores[found] <= best:
            break
        chosen.append(found)
        best = scores[found]
    return sorted(chosen)
