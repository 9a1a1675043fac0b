from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.build.shard_writer import plan_shards
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import Document

TEXTS = [f"text number {number}" for number in range(200)]


def plan(texts, *, split=None, key="key", **settings):
    documents = ((Document("name", (text,)), split) for text in texts)
    settings = CorpusSettings(**{"shard_bytes": 100, **settings})
    return list(plan_shards(documents, building=Path("b"), key=key, settings=settings))


def texts_of(tasks, split):
    return [lines[0] for task in tasks if task.path.startswith(split) for lines in task.documents]


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 200))
def test_shard_plan_puts_every_document_into_one_shard_in_order(texts, shard_bytes):
    tasks = plan(texts, shard_bytes=shard_bytes, validation_fraction=0)
    assert texts_of(tasks, "train") == texts
    assert [task.path for task in tasks] == [f"train/{number:05d}" for number in range(len(tasks))]


def test_shard_plan_ends_a_shard_when_it_is_full():
    sizes = [task.text_bytes for task in plan(TEXTS, validation_fraction=0)]
    assert all(100 <= size < 120 for size in sizes[:-1])


def test_shard_plan_counts_bytes_of_utf8_with_line_ends():
    documents = [(Document("name", ("äö", "我")), None)]
    settings = CorpusSettings(validation_fraction=0)
    (task,) = plan_shards(documents, building=Path("b"), key="key", settings=settings)
    assert task.text_bytes == len("äö\n我".encode())


def test_shard_plan_puts_about_the_fraction_into_validation():
    assert 20 <= len(texts_of(plan(TEXTS, validation_fraction=0.2), "validation")) <= 60


def test_shard_plan_chooses_validation_documents_by_content_alone():
    validation = set(texts_of(plan(TEXTS, validation_fraction=0.2), "validation"))
    assert set(texts_of(plan(TEXTS[::-2], validation_fraction=0.2), "validation")) == validation & set(TEXTS[::-2])


@given(st.permutations(TEXTS[:20]))
def test_shard_plan_takes_the_lowest_hash_for_validation_if_the_fraction_has_no_document(texts):
    tasks = plan(texts, shard_bytes=10_000, validation_fraction=1e-9)
    (expected,) = texts_of(plan(TEXTS[:20], shard_bytes=10_000, validation_fraction=1e-9), "validation")
    assert texts_of(tasks, "validation") == [expected]
    assert texts_of(tasks, "train") == [text for text in texts if text != expected]


def test_shard_plan_takes_a_document_of_the_lowest_hash_with_its_duplicates():
    (expected,) = texts_of(plan(TEXTS[:20], shard_bytes=10_000, validation_fraction=1e-9), "validation")
    tasks = plan(TEXTS[:20] * 2, shard_bytes=10_000, validation_fraction=1e-9)
    assert texts_of(tasks, "validation") == [expected] * 2
    assert texts_of(tasks, "train") == [text for text in TEXTS[:20] * 2 if text != expected]


def test_shard_plan_takes_the_lowest_hash_of_documents_with_enough_sentences():
    long = [f"{text} is here. And more." for text in TEXTS[:20]]
    for number in range(20):
        short = [f"Only {number} {text}." for text in TEXTS[:20]]
        options = {"shard_bytes": 10_000, "validation_fraction": 1e-9, "min_sentences": 2}
        tasks = plan([*short, *long, "\u0301"], **options)
        assert set(texts_of(tasks, "validation")) <= set(long)
        assert len(texts_of(tasks, "validation")) == 1
        assert texts_of(plan([*short, *long[:9]], **options), "validation") == []


@pytest.mark.parametrize(
    ("texts", "change"),
    [
        (TEXTS[:9], {}),
        (TEXTS[:9] * 5, {}),
        (TEXTS, {"shard_bytes": 100}),
        (TEXTS, {"validation_fraction": 0}),
        ([], {}),
    ],
)
def test_shard_plan_takes_no_document_for_validation(texts, change):
    tasks = plan(texts, **{"shard_bytes": 10_000, "validation_fraction": 1e-9, **change})
    assert texts_of(tasks, "train") == list(texts)
    assert texts_of(tasks, "validation") == []


def test_shard_plan_uses_a_given_split():
    assert texts_of(plan(TEXTS, split="validation"), "validation") == TEXTS


@pytest.mark.parametrize("change", [{"texts": TEXTS[1:]}, {"key": "other"}, {"shard_bytes": 150}])
def test_shard_plan_digest_depends_on_text_key_and_settings(change):
    usual = {"texts": TEXTS, "key": "key", "validation_fraction": 0}
    first, again, other = (plan(**settings)[0] for settings in (usual, usual, usual | change))
    assert first == again
    assert first.source != other.source
