"""Statistics of the text of a corpus and of the examples that a run draws from it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from litebert.corpus.format.shards import Corpus, Shard
from litebert.corpus.sampling.example_grid import ExampleGrid, to_grid
from litebert.corpus.sampling.masking import MaskedGrid, find_mask_units, mask_tokens, ngram_probabilities
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.sampling.stream import ExampleStream
from litebert.corpus.statistics.example_view import LABEL_NAMES
from litebert.corpus.statistics.token_frequency import token_counts

Name = TypeVar("Name", int, str)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BATCH_SIZE = 256
"""Examples of a batch, which are grouped by length before they become microbatches."""
MICROBATCH_SIZE = 32
MANY_TRUNCATED = 0.3
"""Share above which sentences are probably not split: English books have 13 % with examples of 128 tokens."""


@dataclass(frozen=True, eq=False)
class LengthHistogram:
    """Number of items of each length; the memory depends on the number of different lengths only."""

    values: np.ndarray
    """Int64 [N]: the lengths, ascending."""
    counts: np.ndarray
    """Int64 [N]: items of that length."""

    @classmethod
    def of(cls, parts: Iterable[np.ndarray]) -> Self:
        """The histogram of lengths that come in several arrays."""
        total: Counter[int] = Counter()
        for part in parts:
            lengths, counts = np.unique(part, return_counts=True)
            total.update(dict(zip(lengths.tolist(), counts.tolist(), strict=True)))
        values = np.array(sorted(total), dtype=np.int64)
        return cls(values, np.array([total[length] for length in values.tolist()], dtype=np.int64))

    @property
    def total(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean length; 0 without items."""
        return float(self.values @ self.counts) / max(1, self.total)

    def quantile(self, share: float) -> int:
        """The smallest length that at least `share` of the items do not exceed; 0 without items."""
        if not self.total:
            return 0
        return int(self.values[np.searchsorted(np.cumsum(self.counts), share * self.total)])

    def to_dict(self) -> dict[str, Any]:
        """Count, mean, minimum, quantiles and maximum."""
        quantiles = {f"{share:.0%}": self.quantile(share) for share in QUANTILES}
        return {"count": self.total, "mean": self.mean, "min": self.quantile(0), **quantiles, "max": self.quantile(1)}

    def to_text(self) -> str:
        """The same in one line."""
        return (
            f"mean {self.mean:,.1f}, median {self.quantile(0.5):,}, 5 % to 95 %: {self.quantile(0.05):,} to "
            f"{self.quantile(0.95):,}, maximum {self.quantile(1):,}"
        )


@dataclass(frozen=True)
class TextStatistics:
    """Documents and sentences of one split."""

    tokens: int
    unknown_tokens: int
    used_pieces: int
    """Number of different pieces of the vocabulary that occur."""
    vocab_size: int
    sentences: LengthHistogram
    """Tokens per sentence."""
    documents: LengthHistogram
    """Tokens per document."""
    sentences_per_document: LengthHistogram

    def to_text(self) -> str:
        """A report of several lines."""
        return (
            f"documents: {self.documents.total:,}\n"
            f"  tokens per document: {self.documents.to_text()}\n"
            f"  sentences per document: {self.sentences_per_document.to_text()}\n"
            f"sentences: {self.sentences.total:,}\n"
            f"  tokens per sentence: {self.sentences.to_text()}\n"
            f"tokens: {self.tokens:,}; {self.unknown_tokens / max(1, self.tokens):.4%} unknown\n"
            f"  {self.used_pieces:,} of {self.vocab_size:,} pieces of the vocabulary occur"
        )


@dataclass(frozen=True)
class ExampleStatistics:
    """The first examples of a run, compared with the settings."""

    max_length: int
    lengths: LengthHistogram
    """Tokens per example, with special tokens."""
    truncated_share: float
    """Share of the tokens of an epoch that its examples leave out, because a sentence goes beyond their length."""
    labels: dict[str, int]
    """Examples with each label of the sentence-pair objective."""
    predicted: int
    """Number of tokens to predict."""
    replacements: dict[str, int]
    """Tokens to predict that are replaced by [MASK], by a random token, or unchanged."""
    ngrams: dict[int, int]
    """Masked n-grams by their number of words."""
    expected_ngrams: dict[int, float]
    """p(n) as drawn; chosen n-grams are shorter where the budget ends or words overlap."""
    microbatch_size: int
    padding_share: float
    """Share of the positions of microbatches that are padding."""

    @property
    def tokens(self) -> int:
        """Number of tokens, with special tokens."""
        return int(self.lengths.values @ self.lengths.counts)

    @property
    def masked_share(self) -> float:
        """Share of the tokens that are predicted."""
        return self.predicted / max(1, self.tokens)

    def to_text(self) -> str:
        """A report of several lines."""
        ngrams = ", ".join(
            f"{size}: {share:.1%} (drawn {self.expected_ngrams[size]:.1%})"
            for size, share in shares(self.ngrams).items()
        )
        return (
            f"examples: {self.lengths.total:,} drawn, of at most {self.max_length} tokens\n"
            f"  tokens per example: {self.lengths.to_text()}\n"
            f"  truncated: {self.truncated_share:.1%} of the tokens of an epoch{self._advice()}\n"
            f"  sentence pairs: {_percentages(self.labels)}\n"
            f"  predicted tokens: {self.masked_share:.2%}; shown as {_percentages(self.replacements)}\n"
            f"  words per masked n-gram: {ngrams}\n"
            f"  padding: {self.padding_share:.1%} of microbatches of {self.microbatch_size}"
        )

    def _advice(self) -> str:
        if self.truncated_share < MANY_TRUNCATED:
            return ""
        return "; sentences are long: build the corpus with a smaller --max-sentence-chars, or draw longer examples"


def count_text(corpus: Corpus) -> TextStatistics:
    """Read every shard of a split and count its text."""
    vocabulary = corpus.vocabulary
    occurrences = token_counts(corpus, max_tokens=corpus.num_tokens)
    return TextStatistics(
        tokens=int(occurrences.sum()),
        unknown_tokens=int(occurrences[vocabulary.unk_id]),
        used_pieces=int(np.count_nonzero(occurrences)),
        vocab_size=vocabulary.size,
        sentences=LengthHistogram.of(np.diff(shard.sentences) for shard in _shards(corpus)),
        documents=LengthHistogram.of(np.diff(shard.sentences[shard.documents]) for shard in _shards(corpus)),
        sentences_per_document=LengthHistogram.of(np.diff(shard.documents) for shard in _shards(corpus)),
    )


def _shards(corpus: Corpus) -> Iterator[Shard]:
    """One after the other: all at once would need more files than a process may open."""
    return map(corpus.shard, range(len(corpus.entries)))


def count_examples(corpus: Corpus, settings: SamplingSettings, *, examples: int, seed: int) -> ExampleStatistics:
    """Draw the first `examples` examples of a run with this seed, at most one epoch, and count them."""
    settings.validate_masked_only()
    batches = PretrainBatches(corpus, settings, batch_size=BATCH_SIZE, microbatch_size=MICROBATCH_SIZE, seed=seed)
    examples = min(examples, batches.examples_per_epoch)
    names = LABEL_NAMES[settings.pairing]
    labels: Counter[str] = Counter()
    replacements: Counter[str] = Counter()
    ngrams: Counter[int] = Counter()
    lengths: list[np.ndarray] = []
    for first in range(0, examples, BATCH_SIZE):
        drawn = [batches.mixture.at(position).draw() for position in range(first, min(first + BATCH_SIZE, examples))]
        grid = to_grid(drawn, batches.vocabulary)
        masked = mask_tokens(grid, batches.vocabulary, settings, mlm_probability=batches.mlm_probability.at(0))
        labels.update(names[example.label] for example in drawn)
        replacements.update(_count_replacements(grid, masked, mask_id=batches.vocabulary.mask_id))
        ngrams.update(ngram_sizes(masked, find_mask_units(grid, batches.vocabulary, settings).word_of_token).tolist())
        lengths.append(grid.lengths)
    return ExampleStatistics(
        max_length=settings.max_length,
        lengths=LengthHistogram.of(lengths),
        truncated_share=_truncated_share(corpus, settings, seed=seed),
        labels={name: labels[name] for name in names.values() if labels[name]},
        predicted=replacements.total(),
        replacements=dict(replacements),
        ngrams={size: ngrams[size] for size in range(1, settings.max_ngram + 1)},
        expected_ngrams=dict(enumerate(ngram_probabilities(settings).tolist(), start=1)),
        microbatch_size=MICROBATCH_SIZE,
        padding_share=_padding_share(batches, examples),
    )


def shares(counts: Mapping[Name, int]) -> dict[Name, float]:
    """Each count as a share of the total."""
    total = max(1, sum(counts.values()))
    return {name: count / total for name, count in counts.items()}


def ngram_sizes(masked: MaskedGrid, word_of_token: np.ndarray) -> np.ndarray:
    """Number of words of each masked n-gram of a grid."""
    rows, columns = np.nonzero(masked.predicted)
    words = np.unique(np.stack((rows, masked.ngrams[rows, columns], word_of_token[rows, columns])), axis=1)
    return np.unique(words[:2], axis=1, return_counts=True)[1]


def _count_replacements(grid: ExampleGrid, masked: MaskedGrid, *, mask_id: int) -> Counter[str]:
    """A random token that is equal to the original token counts as unchanged."""
    shown, original = masked.input_ids[masked.predicted], grid.input_ids[masked.predicted]
    masks, same = int((shown == mask_id).sum()), int((shown == original).sum())
    return Counter({"[MASK]": masks, "random token": len(shown) - masks - same, "unchanged": same})


def _truncated_share(corpus: Corpus, settings: SamplingSettings, *, seed: int) -> float:
    epoch = ExampleStream(corpus, settings, seed=seed).epoch(0)
    special = 2 if settings.single_segment else 3
    return float(np.maximum(0, epoch.tokens - (settings.max_length - special)).sum() / max(1, epoch.tokens.sum()))


def _padding_share(batches: PretrainBatches, examples: int) -> float:
    positions = tokens = 0
    for step in range(max(1, examples // BATCH_SIZE)):
        for batch in batches.microbatches(step):
            positions += batch.input_ids.numel()
            tokens += batch.num_tokens
    return 1 - tokens / positions


def _percentages(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in shares(counts).items())
