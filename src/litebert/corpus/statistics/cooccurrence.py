"""What the neighbours of each token say of it, as vectors. Before: a corpus. After: `commands/pretrain/pretrain_start.py`.

Which tokens stand near each other is counted in one pass over the text and written as a matrix of low rank: the
embedding table that a masked model spends its first millions of examples on finding.
Source: Levy and Goldberg 2014 (the matrix that word2vec factorizes is a shifted PMI), Halko et al. 2011 (the factors).
"""

import numpy as np

from litebert.corpus.format.shards import Corpus
from litebert.corpus.statistics.token_frequency import MOST_TOKENS, token_counts
from litebert.randomness import rng_for

WINDOW = 5
"""Tokens to either side that count as near."""
MOST_NEIGHBOURS = 8192
"""Most frequent tokens that count as neighbours of others; the memory is 4 bytes times this times V."""
SMOOTHING = 0.75
"""Power of the neighbours' frequencies, so that rare ones do not surprise too much. Source: Mikolov et al. 2013."""
CHUNK = 1_000_000
"""Tokens counted at a time."""
ROWS = 256
"""Rows of a matrix that are changed at a time: what is needed beside the one matrix is this share of it."""
SPARE_DIRECTIONS, PASSES = 16, 4


def ppmi_svd_embeddings(
    corpus: Corpus,
    width: int,
    *,
    most_tokens: int = MOST_TOKENS,
    seed: int = 0,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """Float32 [V, D]: the product of two rows says how much more often their tokens are near each other than chance.

    D is `width`, or less where the text knows fewer directions. Rows of tokens that never occur are 0. Windows reach
    over the edges of sentences and documents, which adds noise to few of the counts. `counts` are those of
    `token_counts(corpus, most_tokens=most_tokens)`, where they are known already.
    """
    counts = token_counts(corpus, most_tokens=most_tokens) if counts is None else counts
    ranked = np.argsort(-counts, kind="stable")
    neighbours = min(MOST_NEIGHBOURS, int(np.count_nonzero(counts)))
    matrix = cooccurrence_counts(corpus, ranked, neighbours, most_tokens=most_tokens)
    ppmi_(matrix)
    square = matrix[:neighbours]
    make_symmetric(square)
    directions, sizes = truncated_eigh(square, width, seed=seed)
    # For the frequent tokens these are the roots of the square matrix, for the others what agrees with them best.
    vectors = np.empty((len(counts), len(sizes)), dtype=np.float32)
    vectors[ranked[:neighbours]] = directions * np.sqrt(sizes)
    vectors[ranked[neighbours:]] = matrix[neighbours:] @ (directions / np.sqrt(sizes))
    return vectors


def cooccurrence_counts(corpus: Corpus, ranked: np.ndarray, neighbours: int, *, most_tokens: int) -> np.ndarray:
    """Float32 [V, C]: how often the token `ranked[row]` stands within `WINDOW` of the token `ranked[column]`.

    Args:
        corpus: whose train shards are read.
        ranked: every id, the most frequent first.
        neighbours: C; how many of them count as neighbours.
        most_tokens: tokens to read.
    """
    near = np.zeros((len(ranked), neighbours), dtype=np.float32)
    rank = np.empty(len(ranked), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    for number in range(len(corpus.entries)):
        tokens = corpus.shard(number).tokens[:most_tokens]
        most_tokens -= len(tokens)
        for start in range(0, len(tokens), CHUNK):
            ranks = rank[tokens[start : start + CHUNK]]
            for distance in range(1, WINDOW + 1):
                _count(near, ranks[:-distance], ranks[distance:])
                _count(near, ranks[distance:], ranks[:-distance])
    return near


def ppmi_(near: np.ndarray) -> None:
    """Float32 [V, C], in place: log p(v, c) / (p(v) p(c)) with p(c) smoothed; 0 if negative or if nothing was seen."""
    neighbours = near.sum(axis=0, dtype=np.float64) ** SMOOTHING
    total = neighbours.sum()
    for start in range(0, len(near), ROWS):
        part = near[start : start + ROWS]
        words, seen = part.sum(axis=1, dtype=np.float64), part > 0
        np.divide(part, words[:, None], out=part, where=seen)
        np.divide(part, neighbours, out=part, where=seen)
        part *= total
        np.log(part, out=part, where=seen)
        np.maximum(part, 0, out=part)


def make_symmetric(matrix: np.ndarray) -> None:
    """The mean of a square matrix and its mirror image, in its place."""
    for start in range(0, len(matrix), ROWS):
        rows = slice(start, start + ROWS)
        mean = (matrix[rows, start:] + matrix[start:, rows].T) / 2
        matrix[rows, start:], matrix[start:, rows] = mean, mean.T


def truncated_eigh(matrix: np.ndarray, rank: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a symmetric matrix [C, C]: eigenvectors [C, D] and eigenvalues [D] above 0, largest first, D ≤ `rank`."""
    wanted = min(rank + SPARE_DIRECTIONS, len(matrix))
    basis = rng_for(seed, "directions").standard_normal((len(matrix), wanted), dtype=np.float32)
    for _ in range(PASSES):
        basis, _ = np.linalg.qr(matrix @ (matrix @ basis))
    sizes, inner = np.linalg.eigh(basis.T @ (matrix @ basis))
    order = np.argsort(-sizes)[:rank]
    order = order[sizes[order] > 1e-6 * np.abs(sizes).max()]
    return basis @ inner[:, order], sizes[order]


def _count(near: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    known = columns < near.shape[1]
    np.add.at(near.reshape(-1), rows[known] * near.shape[1] + columns[known], np.float32(1))
