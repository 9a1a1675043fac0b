"""What a corpus holds, counted over all of its shards. Before: shards. After: the eye of whoever built it."""

from dataclasses import dataclass

import numpy as np

from litebert.corpus.format.shards import Corpus, Shard
from litebert.corpus.statistics.length_histogram import LengthHistogram


@dataclass(frozen=True)
class TextStatistics:
    """Documents and sentences of one split, in tokens."""

    tokens: int
    unknown_tokens: int
    used_pieces: int
    """Different pieces that occur."""
    vocab_size: int
    sentences: LengthHistogram
    """Tokens a sentence."""
    documents: LengthHistogram
    """Tokens a document."""
    sentences_a_document: LengthHistogram

    def to_text(self) -> str:
        """Lines for a person."""
        unknown = self.unknown_tokens / max(1, self.tokens)
        return "\n".join(
            [
                f"documents: {self.documents.total:,}",
                f"  tokens each: {self.documents.to_text()}",
                f"  sentences each: {self.sentences_a_document.to_text()}",
                f"sentences: {self.sentences.total:,}",
                f"  tokens each: {self.sentences.to_text()}",
                f"tokens: {self.tokens:,}; {unknown:.4%} unknown",
                f"  {self.used_pieces:,} of the {self.vocab_size:,} pieces occur",
            ]
        )


def count_text(corpus: Corpus) -> TextStatistics:
    """Read every shard of a split once."""
    shards = [corpus.shard(number) for number in range(len(corpus.entries))]
    vocabulary = corpus.vocabulary
    occurrences = sum((_occurrences(shard, vocabulary.size) for shard in shards), np.zeros(vocabulary.size, np.int64))
    return TextStatistics(
        tokens=int(occurrences.sum()),
        unknown_tokens=int(occurrences[vocabulary.unk_id]),
        used_pieces=int(np.count_nonzero(occurrences)),
        vocab_size=vocabulary.size,
        sentences=LengthHistogram.of(np.diff(shard.sentences) for shard in shards),
        documents=LengthHistogram.of(np.diff(shard.sentences[shard.documents]) for shard in shards),
        sentences_a_document=LengthHistogram.of(np.diff(shard.documents) for shard in shards),
    )


def _occurrences(shard: Shard, vocab_size: int) -> np.ndarray:
    return np.bincount(shard.tokens, minlength=vocab_size)
