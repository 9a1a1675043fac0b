"""Several corpora as one endless row of examples, in exact shares. Before: stream, pairing. After: batches.

Each corpus goes through its own epochs. Which corpus the example at a position is from, and how many of it stand before
that position, is arithmetic, so any position of a mixture is reached as directly as one of a single corpus.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pairing import Example, ExampleSource
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.sampling.stream import Epoch, ExampleStream
from litebert.errors import ConfigError
from litebert.randomness import torch_seed_for

WeightedCorpora = Sequence[tuple[Corpus, float]]


@dataclass(frozen=True, eq=False)
class ExampleRef:
    """One example of one epoch of one corpus."""

    source: ExampleSource
    epoch: Epoch
    index: int

    @property
    def tokens(self) -> int:
        """Tokens of its sentences, before they are paired and shortened."""
        return int(self.epoch.tokens[self.index])

    def draw(self) -> Example:
        """The example itself."""
        return self.source.draw(self.epoch, self.index)


class Mixture:
    """The endless row of examples of some corpora, which stand in it in the proportion of their weights."""

    def __init__(self, corpora: WeightedCorpora, settings: SamplingSettings, *, seed: int) -> None:
        validate_mixture(corpora)
        seeds = [seed, *(torch_seed_for(seed, "corpus", number) for number in range(1, len(corpora)))]
        streams = [ExampleStream(corpus, settings, seed=own) for (corpus, _), own in zip(corpora, seeds, strict=True)]
        self.sources = [ExampleSource(stream) for stream in streams]
        self.identity: list[Any] = [[corpus.fingerprint, weight] for corpus, weight in corpora]
        """What decides it, besides settings and seed; plain values."""
        self.shares = shares_of([weight for _, weight in corpora])

    @property
    def examples_per_epoch(self) -> int:
        """Examples in which those of the first corpus are seen once, on average."""
        return round(self.sources[0].stream.examples_per_epoch / self.shares[0])

    def at(self, position: int) -> ExampleRef:
        """The example at a position, counted from 0."""
        before, after = (counts(p, self.shares) for p in (position, position + 1))
        number = next(i for i in range(len(before)) if after[i] > before[i])
        source = self.sources[number]
        epoch_number, place = source.stream.locate(before[number])
        epoch = source.stream.epoch(epoch_number)
        return ExampleRef(source, epoch, int(epoch.order[place]))

    def one_epoch(self, number: int) -> Iterator[ExampleRef]:
        """Every example of an epoch of every corpus, one corpus after the other."""
        for source in self.sources:
            epoch = source.stream.epoch(number)
            yield from (ExampleRef(source, epoch, index) for index in epoch.order.tolist())


def shares_of(weights: Sequence[float]) -> list[Fraction]:
    """Of what the corpora before it leave, the share that each takes; exact, so that no rounding adds up."""
    exact = [Fraction(str(weight)) for weight in weights]
    return [weight / sum(exact[number:]) for number, weight in enumerate(exact)]


def counts(position: int, shares: Sequence[Fraction]) -> list[int]:
    """How many of the first `position` examples are from each corpus.

    The first corpus takes its share, rounded down; the second its share of what that leaves; and so on. So they add up
    to `position`, grow one at a time, and stay within the number of corpora of weight × position.
    """
    found = []
    for share in shares:
        found.append(position * share.numerator // share.denominator)
        position -= found[-1]
    return found


def validate_mixture(corpora: WeightedCorpora) -> None:
    """Raise a ConfigError unless the weights are positive and the corpora were made with one tokenizer."""
    first = corpora[0][0]
    for corpus, weight in corpora:
        if not 0 < weight < inf:
            raise ConfigError(
                f"{corpus.directory}: weight {weight}; a corpus in a mixture needs one above 0, and finite"
            )
        if corpus.tokenizer_fingerprint != first.tokenizer_fingerprint:
            raise ConfigError(
                f"{corpus.directory}: was built with another tokenizer than {first.directory}; "
                "corpora that are mixed need the same ids, so build one of them again"
            )
