"""Several corpora as one endless sequence of examples, in exact proportions.

Each corpus has its own epochs. The corpus of the example at a position, and the number of examples of that corpus
before the position, are computed by arithmetic, so any position is reached as directly as in a single corpus.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf
from typing import Any

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.corpus_examples import VERSION, CorpusExamples, ExampleRef
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.randomness import torch_seed_for

WeightedCorpora = Sequence[tuple[Corpus, float]]


class Mixture:
    """The endless sequence of examples of several corpora in proportion to their weights."""

    def __init__(self, corpora: WeightedCorpora, settings: SamplingSettings, *, seed: int) -> None:
        validate_mixture(corpora)
        seeds = [seed, *(torch_seed_for(seed, "corpus", number) for number in range(1, len(corpora)))]
        self.parts = [
            CorpusExamples(corpus, settings, seed=own) for (corpus, _), own in zip(corpora, seeds, strict=True)
        ]
        self.identity: list[Any] = [[corpus.fingerprint, weight] for corpus, weight in corpora]
        """What determines the sequence besides settings and seed, as plain values."""
        if any(len(part.windows) > 1 for part in self.parts):
            self.identity.append(["windows", VERSION])
        self.shares = remaining_shares([weight for _, weight in corpora])

    @property
    def examples_per_epoch(self) -> int:
        """Length of the part of the sequence that contains the first corpus once, on average."""
        return round(self.parts[0].examples_per_epoch / self.shares[0])

    def at(self, position: int) -> ExampleRef:
        """The example at a position, counted from 0."""
        before, after = (examples_by_corpus(p, self.shares) for p in (position, position + 1))
        corpus = next(i for i in range(len(before)) if after[i] > before[i])
        return self.parts[corpus].at(before[corpus])

    def one_epoch(self, number: int) -> Iterator[ExampleRef]:
        """Every example of an epoch of every corpus, one corpus after the other."""
        for part in self.parts:
            yield from part.one_epoch(number)

    def in_epoch(self, number: int, position: int) -> ExampleRef:
        """The example at a position of `one_epoch`."""
        for part in self.parts:
            if position < (size := part.epoch_size(number)):
                return part.in_epoch(number, position)
            position -= size
        raise IndexError(f"the epoch has {self.epoch_size(number)} examples")

    def epoch_size(self, number: int) -> int:
        """Number of examples of that pass."""
        return sum(part.epoch_size(number) for part in self.parts)


def remaining_shares(weights: Sequence[float]) -> list[Fraction]:
    """For each corpus, its share of the examples that do not belong to an earlier corpus; exact fractions."""
    exact = [Fraction(str(weight)) for weight in weights]
    return [weight / sum(exact[number:]) for number, weight in enumerate(exact)]


def examples_by_corpus(position: int, shares: Sequence[Fraction]) -> list[int]:
    """Number of examples of each corpus among the first `position` examples.

    The first corpus has its share, rounded down; the second has its share of the rest; and so on. The counts add up to
    `position`, grow one at a time, and differ from weight × position by less than the number of corpora.
    """
    counts = []
    for share in shares:
        counts.append(position * share.numerator // share.denominator)
        position -= counts[-1]
    return counts


def validate_mixture(corpora: WeightedCorpora) -> None:
    """Raise a ConfigError unless the weights are positive and finite and all corpora have the same tokenizer."""
    first = corpora[0][0]
    for corpus, weight in corpora:
        if not 0 < weight < inf:
            raise ConfigError(f"{corpus.directory}: found weight {weight}, expected a positive finite number")
        if corpus.tokenizer_fingerprint != first.tokenizer_fingerprint:
            raise ConfigError(
                f"{corpus.directory}: was built with another tokenizer than {first.directory}; "
                "corpora of a mixture need the same token ids, so build one of them again"
            )
