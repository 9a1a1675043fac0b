"""The sequence of examples of one corpus: which sentences form an example, and the order of the examples.

Everything is a function of (seed, epoch), so any position of an endless run is reached without reading the positions
before it. In each epoch every sentence of the corpus is in exactly one example.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from litebert.corpus.format.shards import Corpus, Shard
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.randomness import rng_for

MIN_SHORT_TARGET = 2
"""Minimum target length of a short document. Source: `rng.randint(2, max_num_tokens)` in google-research/albert."""
NO_TOKENS = np.zeros(0, np.uint16)


@dataclass(frozen=True, eq=False)
class Epoch:
    """One pass over a corpus, cut into N examples."""

    number: int
    duplicate: int
    """Part of the key of all random numbers but the order. Epochs with the same value have the same examples; it is
    `number % dupe_factor`, or `number` if examples never repeat."""
    starts: np.ndarray
    """Int64 [N+1]: example i consists of the sentences starts[i] to starts[i + 1]."""
    tokens: np.ndarray
    """Int32 [N]: tokens of the sentences of each example."""
    documents: np.ndarray
    """Int32 [N]: index of the document of each example."""
    order: np.ndarray
    """Int32 [N]: index of the example at each position of the shuffled epoch."""


class ExampleStream:
    """The endless sequence of epochs of one corpus; their sizes repeat after a cycle of epochs."""

    def __init__(self, corpus: Corpus, settings: SamplingSettings, *, seed: int) -> None:
        self.corpus, self.settings, self.seed = corpus, settings, seed
        sizes = sum(self._cycle_sizes(shard) for shard in range(len(corpus.entries)))
        self.cycle_offsets = np.concatenate(([0], np.cumsum(sizes)))
        """Examples before each epoch of a cycle, followed by the number of examples of a cycle."""
        self.epoch = lru_cache(maxsize=2)(self._epoch)
        self.targets = lru_cache(maxsize=2)(self._targets)

    @property
    def examples_per_epoch(self) -> int:
        """Mean over the epochs of a cycle, rounded; epochs differ slightly because of short documents."""
        return round(int(self.cycle_offsets[-1]) / (len(self.cycle_offsets) - 1))

    def locate(self, position: int) -> tuple[int, int]:
        """Epoch, and position in its order, of the example at a position of the endless sequence."""
        cycle, rest = divmod(position, int(self.cycle_offsets[-1]))
        number = int(np.searchsorted(self.cycle_offsets, rest, side="right")) - 1
        return cycle * (len(self.cycle_offsets) - 1) + number, rest - int(self.cycle_offsets[number])

    def _cycle_sizes(self, shard_index: int) -> np.ndarray:
        """Number of examples of a shard in each epoch of a cycle; only short documents are segmented again."""
        shard = self.corpus.shard(shard_index)
        full = _examples_per_document(shard, np.full(len(shard.documents) - 1, self._max_tokens))
        sizes = []
        for duplicate in range(self._distinct_epoch_sizes):
            short, targets = self._short_documents(shard_index, duplicate)
            shorter = _examples_per_document(_select_documents(shard, short), targets[short])
            sizes.append(int(full[~short].sum() + shorter.sum()))
        return np.resize(sizes, self.settings.dupe_factor or len(sizes))

    @property
    def _distinct_epoch_sizes(self) -> int:
        """Number of epochs after which their sizes repeat."""
        if self.settings.short_seq_schedule == "random":
            return self.settings.dupe_factor
        return max(1, self.settings.short_seq_period)

    def _epoch(self, number: int) -> Epoch:
        duplicate = number % (self.settings.dupe_factor or number + 1)
        parts = [self._shard_examples(shard, duplicate) for shard in range(len(self.corpus.entries))]
        starts, tokens, documents = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = rng_for(self.seed, "order", number).permutation(np.arange(len(starts), dtype=np.int32))
        return Epoch(number, duplicate, np.append(starts, self.corpus.num_sentences), tokens, documents, order)

    def _shard_examples(self, shard_index: int, duplicate: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First sentence, tokens and document of each example of a shard."""
        shard = self.corpus.shard(shard_index)
        starts = segment_documents(shard, self._shard_targets(shard_index, duplicate))
        edges = shard.sentences[np.append(starts, len(shard.sentences) - 1)]
        documents = np.searchsorted(shard.documents, starts, side="right") - 1
        return (
            starts + self.corpus.first_sentences[shard_index],
            np.diff(edges.astype(np.int64)).astype(np.int32),
            (documents + self.corpus.first_documents[shard_index]).astype(np.int32),
        )

    @property
    def _max_tokens(self) -> int:
        """Target length of an example that is not short: all positions but [CLS] and two [SEP]."""
        return self.settings.max_length - 3

    def _targets(self, duplicate: int) -> np.ndarray:
        """Target length in tokens of the examples of each document of the corpus, Int64 [documents]."""
        return np.concatenate([self._shard_targets(shard, duplicate) for shard in range(len(self.corpus.entries))])

    def _shard_targets(self, shard_index: int, duplicate: int) -> np.ndarray:
        short, targets = self._short_documents(shard_index, duplicate)
        return np.where(short, targets, self._max_tokens)

    def _short_documents(self, shard_index: int, duplicate: int) -> tuple[np.ndarray, np.ndarray]:
        """For each document of a shard: whether it is short in an epoch, and its target length in that case.

        With the periodic schedule the random key has no epoch: a document has the same target whenever it is short.
        """
        size, period = self.corpus.entries[shard_index].documents, self.settings.short_seq_period
        is_random = self.settings.short_seq_schedule == "random"
        key = (shard_index, duplicate) if is_random else (shard_index,)
        rng = rng_for(self.seed, "short", *key)
        targets = rng.integers(MIN_SHORT_TARGET, self._max_tokens + 1, size)
        phases = rng.integers(0, max(1, period), size)
        phase = 0 if is_random or not period else duplicate % period
        return (phases == phase) & (period > 0), targets


def segment_documents(shard: Shard, targets: np.ndarray) -> np.ndarray:
    """First sentence of each example: sentences are added until the target of the document is reached, or its end.

    Source: the accumulation of `current_chunk` in `create_instances_from_document`, google-research/albert.
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


def _select_documents(shard: Shard, selected: np.ndarray) -> Shard:
    """A shard of some of the documents, without tokens."""
    sizes = np.diff(shard.documents)
    lengths = np.diff(shard.sentences)[np.repeat(selected, sizes)]
    return Shard(NO_TOKENS, *(np.append(0, np.cumsum(part, dtype=np.int64)) for part in (lengths, sizes[selected])))


def _examples_per_document(shard: Shard, targets: np.ndarray) -> np.ndarray:
    return np.diff(np.searchsorted(segment_documents(shard, targets), shard.documents))
