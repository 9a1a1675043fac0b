"""Which sentences make which example, and in which order examples come. Before: shards. After: examples.

Everything is a function of (seed, epoch), so any position of an endless run is found without going through the ones
before it. Examples tile the corpus: in each epoch every sentence is in exactly one.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.shards import Corpus, Shard
from litebert.randomness import rng_for

SHORTEST_TARGET = 2
"""Least number of tokens a short document pass aims at. Source: the original's `rng.randint(2, max_num_tokens)`."""


@dataclass(frozen=True, eq=False)
class Epoch:
    """One pass over a corpus, cut into N examples."""

    number: int
    starts: np.ndarray
    """Int64 of length N+1: example i is made of the sentences starts[i] to starts[i + 1]."""
    tokens: np.ndarray
    """Int32 [N]: tokens of the example's sentences."""
    documents: np.ndarray
    """Int32 [N]: number of the document an example is from."""
    order: np.ndarray
    """Int32 [N]: the example that stands at each place of the shuffled epoch."""


class ExampleStream:
    """The endless sequence of epochs; `short_every` epochs have known sizes, which then repeat."""

    def __init__(self, corpus: Corpus, settings: ExampleSettings, *, seed: int) -> None:
        self.corpus, self.settings, self.seed = corpus, settings, seed
        sizes = sum(self._cycle_sizes(number) for number in range(len(corpus.entries)))
        self.cycle = np.concatenate(([0], np.cumsum(sizes)))
        """Examples before each epoch of a cycle, and at last in a cycle."""
        self.epoch = lru_cache(maxsize=2)(self._epoch)

    @property
    def examples_per_epoch(self) -> int:
        """Mean over the epochs of a cycle, rounded; they differ a little because of the short passes."""
        return round(int(self.cycle[-1]) / (len(self.cycle) - 1))

    def locate(self, position: int) -> tuple[int, int]:
        """Epoch, and place in its order, of the example at a position of the endless sequence."""
        cycle, rest = divmod(position, int(self.cycle[-1]))
        number = int(np.searchsorted(self.cycle, rest, side="right")) - 1
        return cycle * (len(self.cycle) - 1) + number, rest - int(self.cycle[number])

    def _cycle_sizes(self, number: int) -> np.ndarray:
        """Examples that a shard gives in each epoch of a cycle.

        A document is short in one of them, so its two numbers of examples, short and not, decide all.
        """
        shard = self.corpus.shard(number)
        short, turns = self._short_targets(number, shard)
        usual = _examples_per_document(shard, np.full_like(short, self._longest))
        if not self.settings.short_every:
            return np.array([usual.sum()])
        change = _examples_per_document(shard, short) - usual
        changes = np.bincount(turns, weights=change, minlength=self.settings.short_every)
        return usual.sum() + changes.astype(np.int64)

    def _epoch(self, number: int) -> Epoch:
        parts = [self._examples(shard, number) for shard in range(len(self.corpus.entries))]
        starts, tokens, documents = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = rng_for(self.seed, "order", number).permutation(np.arange(len(starts), dtype=np.int32))
        return Epoch(number, np.append(starts, self.corpus.num_sentences), tokens, documents, order)

    def _examples(self, number: int, epoch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First sentence, tokens and document of each example of a shard."""
        shard = self.corpus.shard(number)
        targets, turns = self._short_targets(number, shard)
        short = turns == epoch % self.settings.short_every if self.settings.short_every else False
        starts = tile(shard, np.where(short, targets, self._longest))
        edges = shard.sentences[np.append(starts, len(shard.sentences) - 1)]
        documents = np.searchsorted(shard.documents, starts, side="right") - 1
        return (
            starts + self.corpus.first_sentences[number],
            np.diff(edges.astype(np.int64)).astype(np.int32),
            (documents + self.corpus.first_documents[number]).astype(np.int32),
        )

    @property
    def _longest(self) -> int:
        """Tokens of the sentences of a full example: all but [CLS] and two [SEP]."""
        return self.settings.max_length - 3

    def _short_targets(self, number: int, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
        """For each document of a shard: the tokens its short examples aim at, and when in a cycle its turn is."""
        rng = rng_for(self.seed, "short", number)
        size = len(shard.documents) - 1
        targets = rng.integers(SHORTEST_TARGET, self._longest + 1, size)
        return targets, rng.integers(0, max(1, self.settings.short_every), size)


def tile(shard: Shard, targets: np.ndarray) -> np.ndarray:
    """First sentence of each example when sentences are taken until a document's target is reached, or its end.

    Source: the accumulation of `current_chunk` in the original's create_instances_from_document.
    """
    edges = shard.sentences.astype(np.int64)
    sizes = np.diff(shard.documents)
    reached = np.searchsorted(edges, edges[:-1] + np.repeat(targets, sizes))
    following = np.minimum(reached, np.repeat(shard.documents[1:], sizes)).tolist()
    starts, sentence = [], 0
    while sentence < len(following):
        starts.append(sentence)
        sentence = following[sentence]
    return np.array(starts, dtype=np.int64)


def _examples_per_document(shard: Shard, targets: np.ndarray) -> np.ndarray:
    return np.diff(np.searchsorted(tile(shard, targets), shard.documents))
