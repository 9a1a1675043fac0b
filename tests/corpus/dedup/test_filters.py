from collections import Counter

import pytest

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.dedup.filters import filter_documents
from litebert.corpus.readers.documents import Document

SENTENCE = "the quick brown fox jumps over the lazy dog and runs away from the farmer who shouts at it"


def kept(documents, *, workers=1, **settings):
    """Texts that are let through, and the counts of the others."""
    counts = Counter()
    documents = [item if isinstance(item, Document) else Document("d", (item,)) for item in documents]
    sided = ((document, None) for document in documents)
    settings = CorpusSettings(**settings)
    return [doc.sentences[0] for doc, _ in filter_documents(sided, settings, counts, workers=workers)], +counts


def test_without_settings_everything_is_kept():
    assert kept(["a", "a", "", SENTENCE, SENTENCE]) == (["a", "a", "", SENTENCE, SENTENCE], {})


def test_short_and_long_documents_are_left_out_and_counted_apart():
    texts = ["x" * length for length in (1, 9, 10, 20, 21, 30)]
    assert kept(texts, min_document_chars=10, max_document_chars=20) == (
        [texts[2], texts[3]],
        {"documents too short": 2, "documents too long": 2},
    )


def test_length_is_counted_in_characters_of_all_lines():
    assert kept([Document("d", ("äö", "ü"))], min_document_chars=3)[0]
    assert not kept([Document("d", ("äö", "ü"))], min_document_chars=4)[0]


def test_the_parts_of_a_cut_document_share_its_fate():
    parts = [Document("d", ("x" * 30,)), Document("d", ("x",), continues=True), Document("e", ("next",))]
    assert kept(parts, max_document_chars=20) == (["next"], {"documents too long": 2})
    assert kept(parts, min_document_chars=4) == (["x" * 30, "x", "next"], {})


def test_of_exact_copies_the_first_stays():
    assert kept(["a", "b", "a", "a", "A"], dedup_exact=True) == (["a", "b", "A"], {"duplicate documents": 2})


@pytest.mark.parametrize("workers", [1, 2])
def test_of_near_copies_the_first_stays_whatever_the_number_of_workers(workers):
    other = " ".join(reversed(SENTENCE.split()))
    texts = [SENTENCE, other, SENTENCE.upper() + "!", "", "...", "...", f"{SENTENCE} now", other]
    assert kept(texts, dedup_minhash_threshold=0.8, workers=workers) == (
        [SENTENCE, other, "", "...", "..."],
        {"near duplicate documents": 3},
    )


def test_a_document_keeps_the_side_it_was_given():
    documents = [(Document("d", (SENTENCE,)), "validation"), (Document("e", (SENTENCE + ".",)), None)]
    settings = CorpusSettings(dedup_minhash_threshold=0.9)
    assert list(filter_documents(documents, settings, Counter())) == documents[:1]


def test_nothing_is_nothing():
    assert kept([], dedup_exact=True, dedup_minhash_threshold=0.8) == ([], {})
