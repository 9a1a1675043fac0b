"""How often tokens occur. Before: a corpus. After: the baseline that a masked language model must beat."""

import numpy as np

from litebert.corpus.format.shards import Corpus

MOST_TOKENS = 20_000_000
"""Tokens that are counted; enough to know the most frequent one of any corpus."""


def token_counts(corpus: Corpus, *, most_tokens: int = MOST_TOKENS) -> np.ndarray:
    """Int64 [V]: occurrences of each id in the first shards of `corpus`, in about its first `most_tokens` tokens."""
    counts = np.zeros(len(corpus.vocabulary.word_starts), dtype=np.int64)
    for number in range(len(corpus.entries)):
        if counts.sum() >= most_tokens:
            break
        counts += np.bincount(corpus.shard(number).tokens[:most_tokens], minlength=len(counts))
    return counts


def most_frequent_token(corpus: Corpus) -> int:
    """The id whose constant prediction scores best on the corpus itself."""
    return int(token_counts(corpus).argmax())


def unigram_entropy(corpus: Corpus) -> float:
    """Nats a token lost by knowing only how often each occurs: where the loss of a masked model first rests."""
    counts = token_counts(corpus)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
