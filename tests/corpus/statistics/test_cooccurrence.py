"""Vectors from neighbours: the counts against a slow definition, the factors against numpy's, the meaning on a toy."""

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
    make_symmetric,
    ppmi_,
    ppmi_svd_embeddings,
    truncated_eigh,
)
from litebert.corpus.statistics.token_frequency import token_counts
from support.corpus_builders import vocabulary

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
    splits = {"train": entries, "held_out": []}
    write_description(directory, vocabulary(), splits, fingerprint="0f", tokenizer_fingerprint="f0")
    return Corpus.open(directory)


def ranks_with_first(*first: int) -> np.ndarray:
    return np.array([*first, *(token for token in range(vocabulary().size) if token not in first)])


def counted_slowly(ids: list[int], ranked: np.ndarray, neighbours: int) -> np.ndarray:
    near = np.zeros((len(ranked), neighbours))
    rank = ranked.tolist().index
    for place, token in enumerate(ids):
        for other in range(max(0, place - cooccurrence.WINDOW), min(len(ids), place + cooccurrence.WINDOW + 1)):
            if other != place and rank(ids[other]) < neighbours:
                near[rank(token), rank(ids[other])] += 1
    return near


@pytest.mark.parametrize("first", [[10, 11, 12, 13], [13, 10]])
def test_near_is_within_the_window_to_either_side(tmp_path, first):
    ids, ranked = np.random.default_rng(0).integers(10, 14, 50).tolist(), ranks_with_first(*first)
    found = cooccurrence_counts(corpus_of(tmp_path, ids), ranked, len(first), most_tokens=50)
    assert (found == counted_slowly(ids, ranked, len(first))).all()


def test_shards_are_counted_apart_and_only_the_first_tokens(tmp_path):
    first, second, ranked = [10, 11, 12], [13, 12, 11, 10], ranks_with_first(10, 11, 12, 13)
    found = cooccurrence_counts(corpus_of(tmp_path, first, second), ranked, 4, most_tokens=5)
    assert (found == counted_slowly(first, ranked, 4) + counted_slowly(second[:2], ranked, 4)).all()


MATRICES = arrays.arrays(np.float32, (4, 3), elements=st.integers(0, 50).map(float))


@given(MATRICES)
def test_information_is_the_definition_and_never_below_zero(near):
    found = near.copy()
    ppmi_(found)
    weights = near.sum(0, dtype=float) ** cooccurrence.SMOOTHING
    for word, neighbour in np.ndindex(near.shape):
        expected = 0.0
        if near[word, neighbour]:
            share = near[word, neighbour] / near[word].sum(dtype=float)
            expected = max(0.0, np.log(share * weights.sum() / weights[neighbour]))
        assert found[word, neighbour] == pytest.approx(expected, abs=1e-5)


@given(MATRICES, st.integers(1, 3))
def test_information_is_the_same_to_the_bit_however_many_rows_are_changed_at_a_time(near, rows):
    at_once, in_parts = near.copy(), near.copy()
    ppmi_(at_once)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "ROWS", rows)
        ppmi_(in_parts)
    assert (at_once == in_parts).all()


@given(st.integers(0, 9), st.sampled_from([1, 2, 256]))
def test_a_matrix_is_made_symmetric_in_its_place_to_the_bit(size, rows):
    matrix = np.random.default_rng(size).standard_normal((size, size), dtype=np.float32)
    expected = (matrix + matrix.T) / 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "ROWS", rows)
        make_symmetric(matrix)
    assert (matrix == expected).all()


def test_no_second_matrix_is_held(tmp_path):
    """What comes beside the counts is chunks of rows and of tokens, and the factors."""
    corpus = corpus_of(tmp_path, np.random.default_rng(0).integers(10, 3000, 20_000).tolist())
    matrix_bytes = 4 * vocabulary().size * np.count_nonzero(token_counts(corpus))
    tracemalloc.start()
    ppmi_svd_embeddings(corpus, 8)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert matrix_bytes < peak < 1.5 * matrix_bytes


def test_counts_that_are_known_are_not_counted_again(tmp_path, monkeypatch):
    corpus = corpus_of(tmp_path, text_of_two_topics())
    counts, expected = token_counts(corpus), ppmi_svd_embeddings(corpus, 3)
    monkeypatch.delattr(cooccurrence, "token_counts")
    assert (ppmi_svd_embeddings(corpus, 3, counts=counts) == expected).all()


@pytest.mark.parametrize("rank", [1, 5, 30])
def test_directions_are_the_leading_eigenvectors(rank):
    root = np.random.default_rng(0).standard_normal((30, 30)) * 0.8 ** np.arange(30)
    matrix = (root @ root.T).astype(np.float32)
    directions, sizes = truncated_eigh(matrix, rank, seed=0)
    exact_sizes, exact = np.linalg.eigh(matrix)
    assert sizes == pytest.approx(exact_sizes[::-1][: len(sizes)], rel=1e-3, abs=1e-5)
    best = exact[:, ::-1][:, : len(sizes)]
    assert directions * sizes @ directions.T == pytest.approx(best * exact_sizes[::-1][: len(sizes)] @ best.T, abs=1e-3)


def test_directions_below_zero_and_of_no_size_are_left_out():
    _, sizes = truncated_eigh(np.diag(np.array([3, 2, 0, -5], dtype=np.float32)), 4, seed=0)
    assert sizes == pytest.approx([3, 2])


def text_of_two_topics() -> list[int]:
    rng = np.random.default_rng(0)
    paragraphs = [[*rng.choice(topic, 20), COMMON] for topic in (KINGS, RIVERS) for _ in range(100)]
    return [int(token) for number in rng.permutation(200) for token in paragraphs[number]]


@pytest.mark.parametrize("most_neighbours", [8192, 3])
def test_tokens_of_one_topic_are_closer_than_tokens_of_two(tmp_path, monkeypatch, most_neighbours):
    """Also where a token is too rare to count as anybody's neighbour."""
    monkeypatch.setattr(cooccurrence, "MOST_NEIGHBOURS", most_neighbours)
    vectors = ppmi_svd_embeddings(corpus_of(tmp_path, text_of_two_topics()), 3)
    near = vectors @ vectors.T
    for token, same, others in ((10, 11, RIVERS), (20, 21, KINGS), (21, 20, KINGS)):
        assert near[token, same] > max(near[token, other] for other in others)


def test_a_token_that_never_occurs_has_a_row_of_zeros(tmp_path):
    vectors = ppmi_svd_embeddings(corpus_of(tmp_path, text_of_two_topics()), 3)
    assert not vectors[NEVER].any()
    assert vectors[COMMON].any()


def test_a_text_of_one_token_knows_no_direction(tmp_path):
    assert ppmi_svd_embeddings(corpus_of(tmp_path, [10]), 3).shape == (vocabulary().size, 0)


def test_the_seed_decides_and_the_width_is_what_the_text_knows(tmp_path):
    corpus = corpus_of(tmp_path, text_of_two_topics())
    vectors = ppmi_svd_embeddings(corpus, 128, seed=1)
    assert 1 <= vectors.shape[1] <= 5
    assert (vectors == ppmi_svd_embeddings(corpus, 128, seed=1)).all()
