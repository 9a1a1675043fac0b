"""What a model is shown, counted over examples as a run draws them. Before: batches. After: whoever set the run up."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.example_grid import ExampleGrid, to_grid
from litebert.corpus.sampling.masking import Masked, find_words, mask, ngram_probabilities
from litebert.corpus.sampling.pairing import Example
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.example_view import LABEL_NAMES
from litebert.corpus.statistics.length_histogram import LengthHistogram

Name = TypeVar("Name", int, str)

BATCH_SIZE = 256
"""Examples of a batch, within which those of similar length are put side by side."""


@dataclass(frozen=True)
class ExampleStatistics:
    """Examples from the beginning of a run, and how they came out against what the settings ask for."""

    max_length: int
    lengths: LengthHistogram
    """Tokens an example, special ones counted."""
    labels: dict[str, int]
    """Examples with each label of the second task."""
    predicted: int
    """Tokens to predict."""
    shown: dict[str, int]
    """Tokens to predict that are shown as [MASK], as another token, and as they are."""
    ngrams: dict[int, int]
    """Runs of masked words, by their number of words."""
    expected_ngrams: dict[int, float]
    """p(n) as drawn; a budget that ends or a word that is taken makes the n-grams that come of it shorter."""
    microbatch_size: int
    padding_share: float
    """Share of the places in microbatches that hold no token."""

    @property
    def tokens(self) -> int:
        """Tokens, special ones counted."""
        return int(self.lengths.values @ self.lengths.counts)

    @property
    def masked_share(self) -> float:
        """Share of the tokens that are to be predicted."""
        return self.predicted / max(1, self.tokens)

    def to_text(self) -> str:
        """Lines for a person."""
        ngrams = ", ".join(
            f"{size}: {share:.1%} (drawn {self.expected_ngrams[size]:.1%})"
            for size, share in shares(self.ngrams).items()
        )
        return "\n".join(
            [
                f"examples: {self.lengths.total:,} drawn, of at most {self.max_length} tokens",
                f"  tokens each: {self.lengths.to_text()}",
                f"  second task: {_percentages(self.labels)}",
                f"  to predict: {self.masked_share:.2%} of the tokens; shown as {_percentages(self.shown)}",
                f"  masked words in a row: {ngrams}",
                f"  padding: {self.padding_share:.1%} of microbatches of {self.microbatch_size}",
            ]
        )


def count_examples(
    corpus: Corpus, settings: SamplingSettings, *, examples: int, seed: int, microbatch_size: int = 32
) -> ExampleStatistics:
    """Draw so many examples, or one epoch if that is less, as a run with this seed does."""
    batches = PretrainBatches(corpus, settings, batch_size=BATCH_SIZE, microbatch_size=microbatch_size, seed=seed)
    examples = min(examples, batches.examples_per_epoch)
    names = LABEL_NAMES[settings.pairing]
    labels: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    ngrams: Counter[int] = Counter()
    lengths: list[np.ndarray] = []
    for drawn in _drawn(batches, examples):
        grid = to_grid(drawn, batches.vocabulary)
        masked = mask(grid, batches.vocabulary, settings, mlm_probability=batches.mlm_probability.at(0))
        labels.update(names[example.label] for example in drawn)
        shown.update(_shown(grid, masked, mask_id=batches.vocabulary.mask_id))
        ngrams.update(ngram_sizes(masked, find_words(grid, batches.vocabulary, settings).of_token).tolist())
        lengths.append(grid.lengths)
    return ExampleStatistics(
        max_length=settings.max_length,
        lengths=LengthHistogram.of(lengths),
        labels={name: labels[name] for name in names.values() if labels[name]},
        predicted=shown.total(),
        shown=dict(shown),
        ngrams={size: ngrams[size] for size in range(1, settings.max_ngram + 1)},
        expected_ngrams=dict(enumerate(ngram_probabilities(settings).tolist(), start=1)),
        microbatch_size=microbatch_size,
        padding_share=_padding_share(batches, examples),
    )


def shares(counts: Mapping[Name, int]) -> dict[Name, float]:
    """Each count as a share of all."""
    total = max(1, sum(counts.values()))
    return {name: count / total for name, count in counts.items()}


def ngram_sizes(masked: Masked, word_of_token: np.ndarray) -> np.ndarray:
    """Number of words of each masked n-gram of a grid."""
    rows, places = np.nonzero(masked.predicted)
    words = np.unique(np.stack((rows, masked.ngrams[rows, places], word_of_token[rows, places])), axis=1)
    return np.unique(words[:2], axis=1, return_counts=True)[1]


def _drawn(batches: PretrainBatches, examples: int) -> Iterator[list[Example]]:
    for first in range(0, examples, BATCH_SIZE):
        yield [batches.mixture.at(place).draw() for place in range(first, min(first + BATCH_SIZE, examples))]


def _shown(grid: ExampleGrid, masked: Masked, *, mask_id: int) -> Counter[str]:
    """A token drawn at random that happens to be the right one counts as unchanged."""
    shown, answers = masked.input_ids[masked.predicted], grid.input_ids[masked.predicted]
    hidden, same = int((shown == mask_id).sum()), int((shown == answers).sum())
    return Counter({"[MASK]": hidden, "another token": len(shown) - hidden - same, "unchanged": same})


def _padding_share(batches: PretrainBatches, examples: int) -> float:
    places = tokens = 0
    for step in range(max(1, examples // BATCH_SIZE)):
        for batch in batches.microbatches(step):
            places += batch.input_ids.numel()
            tokens += batch.num_tokens
    return 1 - tokens / places


def _percentages(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in shares(counts).items())
