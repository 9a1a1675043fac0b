"""An example's sentences to two segments and a label. Before: stream. After: grid.

An example of one sentence has no order. Under `no_label` it stays one segment without a label; the original code pairs
it with another document and calls it swapped, which mixes the easier next-sentence task into sentence order.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from litebert.corpus.sampling.stream import Epoch, ExampleStream
from litebert.randomness import rng_for

IN_ORDER, SWAPPED, NO_LABEL = 0, 1, -100
"""Labels of the second task: the second segment follows the first; it does not; the example carries no label."""
ATTEMPTS = 10
"""Random documents looked at to find another one. Source: the original's `for _ in range(10)`."""
NOTHING = np.zeros(0, np.uint16)


@dataclass(frozen=True)
class Example:
    """Token ids of the segments, without special tokens; `second` is empty if there is only one."""

    first: np.ndarray
    second: np.ndarray
    label: int
    rng: np.random.Generator
    """Gives what is still to be drawn for this example."""

    @property
    def length(self) -> int:
        """Tokens with [CLS] and [SEP]."""
        return len(self.first) + len(self.second) + (3 if len(self.second) else 2)


class ExampleSource:
    """Draws any example of an epoch by itself, in any order."""

    def __init__(self, stream: ExampleStream) -> None:
        self.stream, self.corpus, self.settings, self.seed = stream, stream.corpus, stream.settings, stream.seed
        self._pairings = {"sop": self._sentence_order, "nsp": self._next_sentence, "none": self._unlabelled}
        self._partners = lru_cache(maxsize=2)(self._draw_partners)

    def draw(self, epoch: Epoch, index: int) -> Example:
        """Example `index` of an epoch.

        Pairings draw the same numbers, so that the same example under each has the same cut, and if its text is the
        same, the same mask.
        """
        rng = self._rng(epoch, index)
        tokens, edges = self._read(epoch, index)
        if len(edges) == 2:
            first, second, label = self._single_sentence(epoch, index, tokens, rng)
        else:
            halved, coin = halves(tokens, edges, rng), rng.random()
            first, second, label = self._pairings[self.settings.pairing](epoch, index, *halved, coin)
        room = self.settings.max_length - (3 if len(second) else 2)
        return Example(*truncate(first, second, room=room, rng=rng), label=label, rng=rng)

    def _sentence_order(
        self, epoch: Epoch, index: int, first: np.ndarray, second: np.ndarray, coin: float
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """The halves in order, or exchanged, with equal probability."""
        return (second, first, SWAPPED) if coin < 0.5 else (first, second, IN_ORDER)

    def _next_sentence(
        self, epoch: Epoch, index: int, first: np.ndarray, second: np.ndarray, coin: float
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """The halves, or the first with the second half of a partner from another document."""
        partner = int(self._partners(epoch)[index])
        if partner == index:
            return first, second, IN_ORDER
        return first, halves(*self._read(epoch, partner), self._rng(epoch, partner))[1], SWAPPED

    def _unlabelled(
        self, epoch: Epoch, index: int, first: np.ndarray, second: np.ndarray, coin: float
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """The halves in order, so that an ablation of the second task changes nothing else."""
        return first, second, NO_LABEL

    def _single_sentence(
        self, epoch: Epoch, index: int, tokens: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """One segment; in the original's way, with sentences of another document behind it."""
        if self.settings.single_sentence_policy == "no_label" or self.settings.pairing == "none":
            return tokens, NOTHING, NO_LABEL
        document = int(epoch.documents[index])
        room = int(self.stream.targets(epoch.draws)[document]) - len(tokens)
        for other in rng.integers(0, self.corpus.num_documents, ATTEMPTS).tolist():
            if other != document:
                return tokens, self._some_sentences(other, room, rng), SWAPPED
        return tokens, NOTHING, NO_LABEL

    def _some_sentences(self, document: int, room: int, rng: np.random.Generator) -> np.ndarray:
        """Sentences of a document from a random one on, until they have `room` tokens or the document ends."""
        first, end = self.corpus.sentences_of(document)
        start = int(rng.integers(first, end))
        tokens, edges = self.corpus.read(start, min(end, start + max(1, room)))  # a sentence has at least one token
        return tokens[: edges[min(max(1, int(np.searchsorted(edges, room))), len(edges) - 1)]]

    def _draw_partners(self, epoch: Epoch) -> np.ndarray:
        """For each example the one whose second half it takes: itself, or one of another document, mutually.

        Exchanging halves keeps every sentence in one example an epoch, and true and false pairs alike in length.
        """
        rng = rng_for(self.seed, "partners", epoch.draws)
        candidates = rng.permutation(np.flatnonzero(np.diff(epoch.starts) > 1))
        pairs = candidates[: len(candidates) // 2 * 2].reshape(-1, 2)
        exchanged = rng.random(len(pairs)) < 0.5
        pairs = pairs[exchanged & (epoch.documents[pairs[:, 0]] != epoch.documents[pairs[:, 1]])]
        partners = np.arange(len(epoch.tokens))
        partners[pairs] = pairs[:, ::-1]
        return partners

    def _read(self, epoch: Epoch, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.corpus.read(int(epoch.starts[index]), int(epoch.starts[index + 1]))

    def _rng(self, epoch: Epoch, index: int) -> np.random.Generator:
        return rng_for(self.seed, "example", epoch.draws, int(epoch.starts[index]))


def halves(tokens: np.ndarray, edges: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The sentences cut in two at a random edge, each part with at least one; the first thing drawn from `rng`."""
    cut = edges[rng.integers(1, len(edges) - 1)]
    return tokens[:cut], tokens[cut:]


def truncate(
    first: np.ndarray, second: np.ndarray, *, room: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Both segments in `room` tokens: one at a time dropped from the longer (or the second), at a random end.

    Source: the original's truncate_seq_pair.
    """
    excess = max(0, len(first) + len(second) - room)
    gap = len(first) - len(second)
    levelling = min(excess, abs(gap))
    each, odd = divmod(excess - levelling, 2)
    drop_first = each + (levelling if gap > 0 else 0)
    drop_second = each + odd + (levelling if gap < 0 else 0)
    return _shorten(first, drop_first, rng), _shorten(second, drop_second, rng)


def _shorten(segment: np.ndarray, dropped: int, rng: np.random.Generator) -> np.ndarray:
    front = int(np.count_nonzero(rng.random(dropped) < 0.5))
    return segment[front : len(segment) - (dropped - front)]
