"""What the neighbours of each token say of it, as vectors. Before: a corpus. After: `runs/pretrain_start.py`.

Which tokens stand near each other is counted in one pass over the text and written as a matrix of low rank: the
embedding table that a masked model spends its first millions of examples on finding.
Source: Levy and Goldberg 2014 (the matrix that word2vec factorizes is a shifted PMI), Halko et al. 2011 (the factors).
"""

import numpy as np

from litebert.corpus.frequency import MOST_TOKENS, token_counts
from litebert.corpus.shards import Corpus
from litebert.randomness import rng_for

WINDOW = 5
"""Tokens to either side that count as near."""
MOST_NEIGHBOURS = 8192
"""Most frequent tokens that count as neighbours of others; the memory is this times V."""
SMOOTHING = 0.75
"""Power of the neighbours' frequencies, so that rare ones do not surprise too much. Source: Mikolov et al. 2013."""
CHUNK = 1_000_000
"""Tokens counted at a time."""
SPARE_DIRECTIONS, PASSES = 16, 4


def neighbour_vectors(corpus: Corpus, width: int, *, most_tokens: int = MOST_TOKENS, seed: int = 0) -> np.ndarray:
    """Float32 [V, D]: the product of two rows says how much more often their tokens are near each other than chance.

    D is `width`, or less where the text knows fewer directions. Rows of tokens that never occur are 0. Windows reach
    over the edges of sentences and documents, which adds noise to few of the counts.
    """
    counts = token_counts(corpus, most_tokens=most_tokens)
    frequent = np.argsort(-counts, kind="stable")[: min(MOST_NEIGHBOURS, np.count_nonzero(counts))]
    information = positive_information(near_counts(corpus, frequent, most_tokens=most_tokens))
    square = information[frequent]
    directions, sizes = leading_directions((square + square.T) / 2, width, seed=seed)
    # For the frequent tokens these are the roots of the square matrix, for the others what agrees with them best.
    vectors = information @ (directions / np.sqrt(sizes))
    vectors[frequent] = directions * np.sqrt(sizes)
    return vectors


def near_counts(corpus: Corpus, neighbours: np.ndarray, *, most_tokens: int) -> np.ndarray:
    """Float32 [V, C]: how often each token stands within `WINDOW` of the token `neighbours[c]`."""
    near = np.zeros((corpus.vocabulary.size, len(neighbours)), dtype=np.float32)
    column = np.full(corpus.vocabulary.size, -1, dtype=np.int64)
    column[neighbours] = np.arange(len(neighbours))
    for number in range(len(corpus.entries)):
        tokens = corpus.shard(number).tokens[:most_tokens]
        most_tokens -= len(tokens)
        for start in range(0, len(tokens), CHUNK):
            part = np.asarray(tokens[start : start + CHUNK], dtype=np.int64)
            for distance in range(1, WINDOW + 1):
                _count(near, part[:-distance], column[part[distance:]])
                _count(near, part[distance:], column[part[:-distance]])
    return near


def positive_information(near: np.ndarray) -> np.ndarray:
    """Float32 [V, C]: log p(v, c) / (p(v) p(c)) with p(c) smoothed, and 0 where it is negative or nothing was seen."""
    words, neighbours = near.sum(axis=1, dtype=np.float64), near.sum(axis=0, dtype=np.float64) ** SMOOTHING
    surprise = np.zeros_like(near)
    seen = near > 0
    np.divide(near, words[:, None], out=surprise, where=seen)
    np.divide(surprise, neighbours, out=surprise, where=seen)
    surprise *= neighbours.sum()
    np.log(surprise, out=surprise, where=seen)
    return np.maximum(surprise, 0, out=surprise)


def leading_directions(matrix: np.ndarray, rank: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a symmetric matrix [C, C]: eigenvectors [C, D] and eigenvalues [D] above 0, largest first, D ≤ `rank`."""
    wanted = min(rank + SPARE_DIRECTIONS, len(matrix))
    basis = rng_for(seed, "directions").standard_normal((len(matrix), wanted), dtype=np.float32)
    for _ in range(PASSES):
        basis, _ = np.linalg.qr(matrix @ (matrix @ basis))
    sizes, inner = np.linalg.eigh(basis.T @ (matrix @ basis))
    order = np.argsort(-sizes)[:rank]
    order = order[sizes[order] > 1e-6 * np.abs(sizes).max()]
    return basis @ inner[:, order], sizes[order]


def _count(near: np.ndarray, tokens: np.ndarray, columns: np.ndarray) -> None:
    known = columns >= 0
    np.add.at(near.reshape(-1), tokens[known] * near.shape[1] + columns[known], np.float32(1))
