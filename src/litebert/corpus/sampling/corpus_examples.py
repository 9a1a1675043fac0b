"""The endless sequence of examples of one corpus of any size.

A corpus of at most WINDOW_TOKENS tokens is one window, and each epoch is one permutation of its examples. The shards of
a larger corpus are grouped into windows. In each round the windows are visited in a new order, and a visit takes the
next examples of the window's own sequence of epochs. So the time and the memory to reach any position depend on the
size of a window, and not on that of the corpus.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from litebert.corpus.format.shards import Corpus, ShardEntry
from litebert.corpus.sampling.pairing import Example, ExampleSource
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.sampling.stream import MIN_SHORT_TARGET, Epoch, ExampleStream
from litebert.errors import ConfigError
from litebert.randomness import rng_for, torch_seed_for

VERSION = 2
"""Of the order of the examples of a corpus of several windows, which depends on their estimated numbers."""
WINDOW_TOKENS = 2**25
"""Tokens of a window: 34 million, about 270,000 examples of 128 tokens."""


@dataclass(frozen=True, eq=False)
class ExampleRef:
    """Reference to one example of one epoch of one window."""

    source: ExampleSource
    epoch: Epoch
    index: int

    @property
    def tokens(self) -> int:
        """Tokens of its sentences, before pairing and truncation."""
        return int(self.epoch.tokens[self.index])

    def draw(self) -> Example:
        """The example."""
        return self.source.draw(self.epoch, self.index)


class CorpusExamples:
    """The endless sequence of examples of one corpus; every sentence is in one example of each epoch of its window."""

    def __init__(
        self, corpus: Corpus, settings: SamplingSettings, *, seed: int, window_tokens: int = WINDOW_TOKENS
    ) -> None:
        if settings.pairing == "nsp" and corpus.num_documents == 1:
            raise ConfigError(
                f"{corpus.directory}: the {corpus.split} split has one document, so pairing nsp has no "
                "pairs of different documents; use pairing sop, or a corpus of more documents"
            )
        self.corpus, self.settings, self.seed = corpus, settings, seed
        self.windows = group_shards(corpus.entries, window_tokens=window_tokens, seed=seed)
        self.visit_sizes = np.array([self._expected_examples(window) for window in self.windows])
        """Int64 [windows]: examples that a round takes of each window."""
        self.source = lru_cache(maxsize=2)(self._source)
        self.order = lru_cache(maxsize=2)(self._order)
        self.epoch_ends = lru_cache(maxsize=2)(self._epoch_ends)

    @property
    def examples_per_epoch(self) -> int:
        """Mean number of examples of an epoch; of a round, about one epoch, if there are several windows."""
        return self.source(0).stream.examples_per_epoch if len(self.windows) == 1 else int(self.visit_sizes.sum())

    def at(self, position: int) -> ExampleRef:
        """The example at a position, counted from 0."""
        window, position_in_window = self._locate(position)
        source = self.source(window)
        number, position_in_epoch = source.stream.locate(position_in_window)
        epoch = source.stream.epoch(number)
        return ExampleRef(source, epoch, int(epoch.order[position_in_epoch]))

    def one_epoch(self, number: int) -> Iterator[ExampleRef]:
        """Every example of an epoch of every window, one window after the other."""
        for window in range(len(self.windows)):
            source = self.source(window)
            epoch = source.stream.epoch(number)
            yield from (ExampleRef(source, epoch, index) for index in epoch.order.tolist())

    def epoch_size(self, number: int) -> int:
        """Number of examples of that pass."""
        return int(self.epoch_ends(number)[-1])

    def in_epoch(self, number: int, position: int) -> ExampleRef:
        """The example at a position of `one_epoch`, in any order of positions."""
        ends = self.epoch_ends(number)
        window = int(np.searchsorted(ends, position, side="right"))
        source = self.source(window)
        epoch = source.stream.epoch(number)
        return ExampleRef(source, epoch, int(epoch.order[position - (int(ends[window - 1]) if window else 0)]))

    def _epoch_ends(self, number: int) -> np.ndarray:
        """Int64 [windows]: examples of an epoch up to the end of each window."""
        return np.cumsum([len(self.source(window).stream.epoch(number).order) for window in range(len(self.windows))])

    def _locate(self, position: int) -> tuple[int, int]:
        """The window of a position, and the position in the window's own sequence."""
        if len(self.windows) == 1:
            return 0, position
        round_number, rest = divmod(position, int(self.visit_sizes.sum()))
        order, ends = self.order(round_number)
        visit = int(np.searchsorted(ends, rest, side="right"))
        window = int(order[visit])
        size = int(self.visit_sizes[window])
        return window, round_number * size + rest - (int(ends[visit]) - size)

    def _order(self, round_number: int) -> tuple[np.ndarray, np.ndarray]:
        """The windows in the order of a round, and the number of examples of the round up to the end of each visit."""
        order = rng_for(self.seed, "windows", round_number).permutation(len(self.windows))
        return order, np.cumsum(self.visit_sizes[order])

    def _source(self, window: int) -> ExampleSource:
        if len(self.windows) == 1:
            return ExampleSource(ExampleStream(self.corpus, self.settings, seed=self.seed))
        corpus = self.corpus.select(self.windows[window])
        seed = torch_seed_for(self.seed, "window", window)
        return ExampleSource(ExampleStream(corpus, self.settings, seed=seed))

    def _expected_examples(self, window: Sequence[int]) -> int:
        """About the number of examples of an epoch: full ones, and half an example at the end of each document.

        The last sentence of an example exceeds its target by about half a sentence.
        """
        entries = [self.corpus.entries[shard] for shard in window]
        tokens, sentences, documents = (
            sum(getattr(entry, name) for entry in entries) for name in ("tokens", "sentences", "documents")
        )
        excess, period = tokens / max(1, sentences) / 2, self.settings.short_seq_period
        longest = self.settings.max_length - 3
        short = float(np.mean(1 / (np.arange(MIN_SHORT_TARGET, longest + 1) + excess))) if period else 0.0
        share = 1 / period if period else 0.0
        per_token = share * short + (1 - share) / (longest + excess)
        return max(1, round(tokens * per_token + documents / 2))


def group_shards(entries: Sequence[ShardEntry], *, window_tokens: int, seed: int) -> list[list[int]]:
    """The shards of each window: random ones, so that a window holds text of several sources."""
    if sum(entry.tokens for entry in entries) <= window_tokens:
        return [list(range(len(entries)))]
    windows, size = [[]], 0
    for shard in rng_for(seed, "window shards").permutation(len(entries)).tolist():
        if windows[-1] and size + entries[shard].tokens > window_tokens:
            windows.append([])
            size = 0
        windows[-1].append(shard)
        size += entries[shard].tokens
    return windows
