"""Embeddings from co-occurrence: counts against a slow definition, factors against numpy's, meaning on a toy text."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from litebert.corpus.format.shards import Corpus, Shard, ShardEntry, write_description
from litebert.corpus.statistics import cooccurrence
from litebert.corpus.statistics.cooccurrence import (
    cooccurrence_counts,
    ppmi_,
    ppmi_svd_embeddings,
    symmetrize_,
    truncated_eigh,
)
from litebert.corpus.statistics.token_frequency import token_counts
from litebert.manifest import write_manifest
from support.data.corpus_builders import vocabulary
from support.models.tolerances import tolerance

KINGS, RIVERS, COMMON, NEVER = (10, 11), (20, 21), 30, 40


def corpus_of(directory, *shards: list[int]) -> Corpus:
    """One document of one sentence a shard."""
    entries = []
    for number, ids in enumerate(shards):
        path = directory / f"train/{number:05d}"
        path.mkdir(parents=True)
        edges = np.array([0, len(ids)], dtype=np.uint32)
        Shard(np.array(ids, dtype=np.uint16), edges, np.array([0, 1], dtype=np.uint32)).save(path)
        entries.append(ShardEntry(f"train/{number:05d}", 1, 1, len(ids)))
    splits = {"train": entries, "validation": []}
    write_description(directory, vocabulary(), splits, fingerprint="0f", tokenizer_fingerprint="f0")
    write_manifest(directory)
    return Corpus.open(directory)


def ranks_with_first(*first: int) -> np.ndarray:
    return np.array([*first, *(token for token in range(vocabulary().size) if token not in first)])


def counted_slowly(ids: list[int], ranked: np.ndarray, contexts: int) -> np.ndarray:
    near = np.zeros((len(ranked), contexts))
    rank = ranked.tolist().index
    for position, token in enumerate(ids):
        for other in range(max(0, position - cooccurrence.WINDOW), min(len(ids), position + cooccurrence.WINDOW + 1)):
            if other != position and rank(ids[other]) < contexts:
                near[rank(token), rank(ids[other])] += 1
    return near


@pytest.mark.parametrize("first", [[10, 11, 12, 13], [13, 10]])
def test_cooccurrence_counts_tokens_within_the_window_on_both_sides(tmp_path, first):
    ids, ranked = np.random.default_rng(0).integers(10, 14, 50).tolist(), ranks_with_first(*first)
    found = cooccurrence_counts(corpus_of(tmp_path, ids), ranked, len(first), max_tokens=50)
    assert (found == counted_slowly(ids, ranked, len(first))).all()


def test_cooccurrence_counts_shards_separately_up_to_max_tokens(tmp_path):
    first, second, ranked = [10, 11, 12], [13, 12, 11, 10], ranks_with_first(10, 11, 12, 13)
    found = cooccurrence_counts(corpus_of(tmp_path, first, second), ranked, 4, max_tokens=5)
    assert (found == counted_slowly(first, ranked, 4) + counted_slowly(second[:2], ranked, 4)).all()


def test_cooccurrence_reads_no_shard_after_max_tokens(tmp_path):
    corpus, ranked = corpus_of(tmp_path, [10, 11, 12], [13, 12, 11, 10]), ranks_with_first(10, 11, 12, 13)
    (tmp_path / "train/00001/tokens.npy").unlink()
    found = cooccurrence_counts(corpus, ranked, 4, max_tokens=3)
    assert (found == counted_slowly([10, 11, 12], ranked, 4)).all()


MATRICES = arrays.arrays(np.float32, (4, 3), elements=st.integers(0, 50).map(float))


@given(MATRICES)
def test_ppmi_equals_its_definition(near):
    found = near.copy()
    ppmi_(found)
    weights = near.sum(0, dtype=float) ** cooccurrence.SMOOTHING
    for word, context in np.ndindex(near.shape):
        expected = 0.0
        if near[word, context]:
            share = near[word, context] / near[word].sum(dtype=float)
            expected = max(0.0, np.log(share * weights.sum() / weights[context]))
        assert found[word, context] == pytest.approx(expected, abs=tolerance())


@given(MATRICES, st.integers(1, 3))
def test_ppmi_does_not_depend_on_the_block_size(near, rows):
    at_once, in_parts = near.copy(), near.copy()
    ppmi_(at_once)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "BLOCK_ROWS", rows)
        ppmi_(in_parts)
    assert (at_once == in_parts).all()


@given(st.integers(0, 9), st.sampled_from([1, 2, 256]))
def test_symmetrize_is_exact_in_place(size, rows):
    matrix = np.random.default_rng(size).standard_normal((size, size), dtype=np.float32)
    expected = (matrix + matrix.T) / 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "BLOCK_ROWS", rows)
        symmetrize_(matrix)
    assert (matrix == expected).all()


def test_ppmi_embeddings_need_memory_for_one_matrix(tmp_path):
    """Besides the counts only blocks of rows, chunks of tokens and the factors are in memory."""
    corpus = corpus_of(tmp_path, np.random.default_rng(0).integers(10, 3000, 20_000).tolist())
    matrix_bytes = 4 * vocabulary().size * np.count_nonzero(token_counts(corpus))
    tracemalloc.start()
    ppmi_svd_embeddings(corpus, 8)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert matrix_bytes < peak < 1.5 * matrix_bytes


def test_ppmi_embeddings_use_the_given_token_counts(tmp_path, monkeypatch):
    corpus = corpus_of(tmp_path, text_of_two_topics())
    counts, expected = token_counts(corpus), ppmi_svd_embeddings(corpus, 3)
    monkeypatch.delattr(cooccurrence, "token_counts")
    assert (ppmi_svd_embeddings(corpus, 3, counts=counts) == expected).all()


@pytest.mark.parametrize("rank", [1, 5, 30])
def test_truncated_eigh_returns_the_largest_eigenvalues(rank):
    root = np.random.default_rng(0).standard_normal((30, 30)) * 0.8 ** np.arange(30)
    matrix = (root @ root.T).astype(np.float32)
    directions, sizes = truncated_eigh(matrix, rank, seed=0)
    exact_sizes, exact = np.linalg.eigh(matrix)
    assert sizes == pytest.approx(exact_sizes[::-1][: len(sizes)], rel=1e-3, abs=tolerance())
    best = exact[:, ::-1][:, : len(sizes)]
    assert directions * sizes @ directions.T == pytest.approx(best * exact_sizes[::-1][: len(sizes)] @ best.T, abs=1e-3)


def test_truncated_eigh_leaves_out_eigenvalues_that_are_not_positive():
    _, sizes = truncated_eigh(np.diag(np.array([3, 2, 0, -5], dtype=np.float32)), 4, seed=0)
    assert sizes == pytest.approx([3, 2])


def text_of_two_topics() -> list[int]:
    rng = np.random.default_rng(0)
    paragraphs = [[*rng.choice(topic, 20), COMMON] for topic in (KINGS, RIVERS) for _ in range(100)]
    return [int(token) for number in rng.permutation(200) for token in paragraphs[number]]


@pytest.mark.parametrize("contexts", [8192, 3])
def test_ppmi_embeddings_of_one_topic_are_closer_than_of_two(tmp_path, monkeypatch, contexts):
    """Also for tokens that are too rare to be context tokens."""
    monkeypatch.setattr(cooccurrence, "MAX_CONTEXT_TOKENS", contexts)
    vectors = ppmi_svd_embeddings(corpus_of(tmp_path, text_of_two_topics()), 3)
    near = vectors @ vectors.T
    for token, same, others in ((10, 11, RIVERS), (20, 21, KINGS), (21, 20, KINGS)):
        assert near[token, same] > max(near[token, other] for other in others)


def test_ppmi_embeddings_of_tokens_that_never_occur_are_zero(tmp_path):
    vectors = ppmi_svd_embeddings(corpus_of(tmp_path, text_of_two_topics()), 3)
    assert not vectors[NEVER].any()
    assert vectors[COMMON].any()


def test_ppmi_embeddings_of_a_single_token_have_no_columns(tmp_path):
    assert ppmi_svd_embeddings(corpus_of(tmp_path, [10]), 3).shape == (vocabulary().size, 0)


def test_ppmi_embeddings_depend_on_the_seed_and_have_at_most_the_rank(tmp_path):
    corpus = corpus_of(tmp_path, text_of_two_topics())
    vectors = ppmi_svd_embeddings(corpus, 128, seed=1)
    assert 1 <= vectors.shape[1] <= 5
    assert (vectors == ppmi_svd_embeddings(corpus, 128, seed=1)).all()
