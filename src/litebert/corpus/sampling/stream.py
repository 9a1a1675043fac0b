"""Which sentences make which example, and in which order examples come. Before: shards. After: examples.

Everything is a function of (seed, epoch), so any position of an endless run is found without going through the ones
before it. Examples tile the corpus: in each epoch every sentence is in exactly one.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from litebert.corpus.format.shards import Corpus, Shard
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.randomness import rng_for

SHORTEST_TARGET = 2
"""Least number of tokens a short document pass aims at. Source: the original's `rng.randint(2, max_num_tokens)`."""
NO_TOKENS = np.zeros(0, np.uint16)


@dataclass(frozen=True, eq=False)
class Epoch:
    """One pass over a corpus, cut into N examples."""

    number: int
    draws: int
    """Number that keys what is drawn: epochs with the same one hold the same examples, in another order."""
    starts: np.ndarray
    """Int64 of length N+1: example i is made of the sentences starts[i] to starts[i + 1]."""
    tokens: np.ndarray
    """Int32 [N]: tokens of the example's sentences."""
    documents: np.ndarray
    """Int32 [N]: number of the document an example is from."""
    order: np.ndarray
    """Int32 [N]: the example that stands at each place of the shuffled epoch."""


class ExampleStream:
    """The endless sequence of epochs of one corpus; after a cycle of epochs their sizes repeat."""

    def __init__(self, corpus: Corpus, settings: SamplingSettings, *, seed: int) -> None:
        self.corpus, self.settings, self.seed = corpus, settings, seed
        sizes = sum(self._cycle_sizes(number) for number in range(len(corpus.entries)))
        self.cycle = np.concatenate(([0], np.cumsum(sizes)))
        """Examples before each epoch of a cycle, and at last in a cycle."""
        self.epoch = lru_cache(maxsize=2)(self._epoch)
        self.targets = lru_cache(maxsize=2)(self._targets)

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
        """Examples that a shard gives in each epoch of a cycle: only documents that are short are cut anew."""
        shard = self.corpus.shard(number)
        usual = _examples_per_document(shard, np.full(len(shard.documents) - 1, self._longest))
        sizes = []
        for draws in range(self._different_passes):
            short, targets = self._short(number, draws)
            cut = _examples_per_document(_documents_of(shard, short), targets[short])
            sizes.append(int(usual[~short].sum() + cut.sum()))
        return np.resize(sizes, self.settings.dupe_factor or len(sizes))

    @property
    def _different_passes(self) -> int:
        """Epochs after which the sizes repeat."""
        in_turn = max(1, self.settings.short_every)
        return in_turn if self.settings.short_seq_schedule == "in_turn" else self.settings.dupe_factor

    def _epoch(self, number: int) -> Epoch:
        draws = number % (self.settings.dupe_factor or number + 1)
        parts = [self._examples(shard, draws) for shard in range(len(self.corpus.entries))]
        starts, tokens, documents = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = rng_for(self.seed, "order", number).permutation(np.arange(len(starts), dtype=np.int32))
        return Epoch(number, draws, np.append(starts, self.corpus.num_sentences), tokens, documents, order)

    def _examples(self, number: int, draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First sentence, tokens and document of each example of a shard."""
        shard = self.corpus.shard(number)
        starts = segment_documents(shard, self._shard_targets(number, draws))
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

    def _targets(self, draws: int) -> np.ndarray:
        """For each document of the corpus the tokens its examples aim at, Int64 [documents]."""
        return np.concatenate([self._shard_targets(number, draws) for number in range(len(self.corpus.entries))])

    def _shard_targets(self, number: int, draws: int) -> np.ndarray:
        short, targets = self._short(number, draws)
        return np.where(short, targets, self._longest)

    def _short(self, number: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """For each document of a shard: whether it is short in a pass, and the tokens it then aims at."""
        size, every = self.corpus.entries[number].documents, self.settings.short_every
        at_random = self.settings.short_seq_schedule == "at_random"
        rng = rng_for(self.seed, "short", number, draws) if at_random else rng_for(self.seed, "short", number)
        targets = rng.integers(SHORTEST_TARGET, self._longest + 1, size)
        turns = rng.integers(0, max(1, every), size)
        turn = 0 if at_random or not every else draws % every
        return (turns == turn) & (every > 0), targets


def segment_documents(shard: Shard, targets: np.ndarray) -> np.ndarray:
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


def _documents_of(shard: Shard, chosen: np.ndarray) -> Shard:
    """A shard of some documents only, without their tokens."""
    sizes = np.diff(shard.documents)
    lengths = np.diff(shard.sentences)[np.repeat(chosen, sizes)]
    return Shard(NO_TOKENS, *(np.append(0, np.cumsum(part, dtype=np.int64)) for part in (lengths, sizes[chosen])))


def _examples_per_document(shard: Shard, targets: np.ndarray) -> np.ndarray:
    return np.diff(np.searchsorted(segment_documents(shard, targets), shard.documents))
