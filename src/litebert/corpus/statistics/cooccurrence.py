"""Token embeddings from co-occurrence counts: a low-rank factorization of the PPMI matrix.

For tokens v and context tokens c, counted within a window of `WINDOW` tokens, in one pass over the text:

    PPMI(v, c) = max(0, log(p(v, c) / (p(v) p_s(c)))),   p_s(c) ∝ count(c)^SMOOTHING

The frequent tokens are both rows and columns, so their part of the matrix is square; its symmetric part is
approximated by U diag(s) U^T with the largest eigenvalues s, and the embedding of a frequent token is a row of
U diag(s)^(1/2). The embedding of a rare token is its row of PPMI times U diag(s)^(-1/2), the least-squares fit.
Sources: Levy and Goldberg 2014 (skip-gram factorizes a shifted PMI matrix), Levy et al. 2015 (context smoothing),
Halko et al. 2011 (randomized eigenvalues).
"""

import numpy as np

from litebert.corpus.format.shards import Corpus
from litebert.corpus.statistics.token_frequency import MAX_COUNTED_TOKENS, token_counts
from litebert.randomness import rng_for

WINDOW = 5
"""Tokens to either side that count as context."""
MAX_CONTEXT_TOKENS = 8192
"""Number of the most frequent tokens that are context tokens; the matrix has 4 bytes times this times V."""
SMOOTHING = 0.75
"""Exponent of the context frequencies, which lowers the weight of rare contexts. Source: Mikolov et al. 2013."""
CHUNK_TOKENS = 1_000_000
"""Tokens counted at a time."""
BLOCK_ROWS = 256
"""Matrix rows that are updated at a time, so that no second matrix is needed."""
OVERSAMPLING, POWER_ITERATIONS = 16, 4


def ppmi_svd_embeddings(corpus: Corpus, width: int, *, seed: int = 0, counts: np.ndarray | None = None) -> np.ndarray:
    """Float32 [V, D]: embeddings whose dot products approximate PPMI.

    D is `width`, or less if fewer eigenvalues are positive. Rows of tokens that never occur are 0. Windows cross the
    ends of sentences and documents, which adds noise to few of the counts. `counts` is `token_counts(corpus)`, if the
    caller has it.
    """
    counts = token_counts(corpus) if counts is None else counts
    ranked = np.argsort(-counts, kind="stable")
    contexts = min(MAX_CONTEXT_TOKENS, int(np.count_nonzero(counts)))
    matrix = cooccurrence_counts(corpus, ranked, contexts, max_tokens=MAX_COUNTED_TOKENS)
    ppmi_(matrix)
    square = matrix[:contexts]
    symmetrize_(square)
    eigenvectors, eigenvalues = truncated_eigh(square, width, seed=seed)
    vectors = np.empty((len(counts), len(eigenvalues)), dtype=np.float32)
    vectors[ranked[:contexts]] = eigenvectors * np.sqrt(eigenvalues)
    vectors[ranked[contexts:]] = matrix[contexts:] @ (eigenvectors / np.sqrt(eigenvalues))
    return vectors


def cooccurrence_counts(corpus: Corpus, ranked: np.ndarray, contexts: int, *, max_tokens: int) -> np.ndarray:
    """Float32 [V, C]: how often the token `ranked[row]` is within `WINDOW` tokens of the token `ranked[column]`.

    `ranked` has every id, the most frequent first; `contexts` is C, the number of context tokens.
    """
    matrix = np.zeros((len(ranked), contexts), dtype=np.float32)
    rank = np.empty(len(ranked), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    for number in range(len(corpus.entries)):
        if max_tokens <= 0:  # further shards are not read, which takes their hash
            break
        tokens = corpus.tokens(number)[:max_tokens]
        max_tokens -= len(tokens)
        for start in range(0, len(tokens), CHUNK_TOKENS):
            ranks = rank[tokens[start : start + CHUNK_TOKENS]]
            for distance in range(1, WINDOW + 1):
                _add_counts(matrix, ranks[:-distance], ranks[distance:])
                _add_counts(matrix, ranks[distance:], ranks[:-distance])
    return matrix


def ppmi_(matrix: np.ndarray) -> None:
    """Replace counts, float32 [V, C], by PPMI in place; entries with a count of 0 remain 0."""
    contexts = matrix.sum(axis=0, dtype=np.float64) ** SMOOTHING
    total = contexts.sum()
    for start in range(0, len(matrix), BLOCK_ROWS):
        block = matrix[start : start + BLOCK_ROWS]
        tokens, observed = block.sum(axis=1, dtype=np.float64), block > 0
        np.divide(block, tokens[:, None], out=block, where=observed)
        np.divide(block, contexts, out=block, where=observed)
        block *= total
        np.log(block, out=block, where=observed)
        np.maximum(block, 0, out=block)


def symmetrize_(matrix: np.ndarray) -> None:
    """Replace a square matrix A by (A + A^T) / 2 in place."""
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        mean = (matrix[rows, start:] + matrix[start:, rows].T) / 2
        matrix[rows, start:], matrix[start:, rows] = mean, mean.T


def truncated_eigh(matrix: np.ndarray, rank: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors [C, D] and positive eigenvalues [D], descending, of a symmetric matrix [C, C]; D <= `rank`."""
    columns = min(rank + OVERSAMPLING, len(matrix))
    basis = rng_for(seed, "directions").standard_normal((len(matrix), columns), dtype=np.float32)
    for _ in range(POWER_ITERATIONS):
        basis, _ = np.linalg.qr(matrix @ (matrix @ basis))
    eigenvalues, inner = np.linalg.eigh(basis.T @ (matrix @ basis))
    order = np.argsort(-eigenvalues)[:rank]
    order = order[eigenvalues[order] > 1e-6 * np.abs(eigenvalues).max()]
    return basis @ inner[:, order], eigenvalues[order]


def _add_counts(matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    known = columns < matrix.shape[1]
    np.add.at(matrix.reshape(-1), rows[known] * matrix.shape[1] + columns[known], np.float32(1))
