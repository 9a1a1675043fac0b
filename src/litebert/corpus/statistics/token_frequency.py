"""Token frequencies of a corpus, and the baselines that follow from them."""

import numpy as np

from litebert.corpus.format.shards import Corpus

MAX_COUNTED_TOKENS = 20_000_000
"""Tokens that are counted; enough to find the most frequent token of any corpus."""


def token_counts(corpus: Corpus, *, max_tokens: int = MAX_COUNTED_TOKENS) -> np.ndarray:
    """Int64 [V]: occurrences of each id in the first shards of `corpus`, about `max_tokens` tokens."""
    counts = np.zeros(len(corpus.vocabulary.word_starts), dtype=np.int64)
    for number in range(len(corpus.entries)):
        if counts.sum() >= max_tokens:
            break
        counts += np.bincount(corpus.tokens(number)[:max_tokens], minlength=len(counts))
    return counts


def most_frequent_token(corpus: Corpus) -> int:
    """The id of the majority-token baseline: the constant prediction with the highest accuracy on the corpus."""
    return int(token_counts(corpus).argmax())


def unigram_entropy(corpus: Corpus) -> float:
    """Entropy of the token frequencies in nats per token: the MLM loss of a model that ignores its input."""
    counts = token_counts(corpus)
    probabilities = counts[counts > 0] / counts.sum()
    return float(-(probabilities * np.log(probabilities)).sum())
