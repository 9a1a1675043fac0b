"""The nearest vectors, exactly and approximately."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError, DataError, MissingExtraError
from litebert.inference.embeddings import approximate_search as approximate
from litebert.inference.embeddings import exact_search as module
from litebert.inference.embeddings.approximate_search import ApproximateIndex
from litebert.inference.embeddings.exact_search import exact_search
from litebert.inference.predictor import Predictor
from support.models.tolerances import close_to


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 10), st.integers(0, 1000))
def test_exact_search_is_a_stable_sort_of_all_scores(count, top_k, block, seed):
    """Small integers, so that scores are exact and many are equal."""
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (count, 3)).astype(np.float32)
    queries = rng.integers(-2, 3, (2, 3)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS_PER_BLOCK", block)
        found = exact_search(queries, vectors, top_k=top_k)
    for hits, scores in zip(found, queries @ vectors.T, strict=True):
        expected = np.argsort(-scores, kind="stable")[:top_k]
        assert [hit.index for hit in hits] == expected.tolist()
        assert [hit.score for hit in hits] == scores[expected].tolist()


def test_exact_search_without_queries_or_vectors_finds_nothing():
    assert exact_search(np.empty((0, 3), np.float32), np.ones((2, 3), np.float32), top_k=1) == []
    assert exact_search(np.ones((1, 3), np.float32), np.empty((0, 3), np.float32), top_k=1) == [[]]


def test_search_of_the_predictor_finds_texts_by_themselves(saved):
    texts = ["the film was good", "music", "her first play"]
    predictor = Predictor.load(saved["masked"])
    hits = predictor.search(texts[::-1], predictor.embed(texts), top_k=2)
    assert [each[0].index for each in hits] == [2, 1, 0]
    assert [len(each) for each in hits] == [2, 2, 2]
    with pytest.raises(ConfigError, match="they have 4 dimensions, the queries 16"):
        predictor.search(texts, predictor.embed(texts, dimensions=4))


def test_approximate_search_finds_the_nearest_vectors():
    pytest.importorskip("usearch")
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((200, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = [hits[0] for hits in ApproximateIndex.build(vectors).search(vectors[:20], top_k=1)]
    nearest = [hit for index, hit in enumerate(found) if hit.index == index]
    assert len(nearest) >= 18  # threads that build the index make it another one each time
    assert [hit.score for hit in nearest] == close_to([1.0] * len(nearest))


def test_index_holds_its_vectors_in_their_order_up_to_rounding(monkeypatch):
    usearch = pytest.importorskip("usearch.index")
    monkeypatch.setattr(approximate, "ROWS_PER_BLOCK", 64)
    vectors = np.random.default_rng(0).standard_normal((100, 8)).astype(np.float32)
    index = ApproximateIndex.build(vectors)
    assert index.holds(vectors * np.float32(1 + 1e-5))
    changed = vectors.copy()
    changed[99, 0] += 0.1
    for others in (vectors[::-1], changed, vectors[:99], vectors[:, :7]):
        assert not index.holds(others)
    elsewhere = usearch.Index(ndim=8, metric="ip", dtype="f32")
    elsewhere.add(np.arange(1, 101), vectors)
    assert not ApproximateIndex(elsewhere).holds(vectors)


def test_approximate_search_names_the_extra_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'litebert\[search\]'"):
        ApproximateIndex.build(np.ones((1, 2), np.float32))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_refused(value):
    vectors = np.eye(3, dtype=np.float32)
    vectors[1, 2] = value
    with pytest.raises(DataError, match="some are NaN or infinite"):
        exact_search(np.ones((1, 3), np.float32), vectors, top_k=2)
