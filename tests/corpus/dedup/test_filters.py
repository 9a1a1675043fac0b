from collections import Counter

import pytest

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.dedup.near_duplicates import filter_documents
from litebert.corpus.readers.documents import Document

SENTENCE = "the quick brown fox jumps over the lazy dog and runs away from the farmer who shouts at it"


def kept(documents, *, workers=1, **settings):
    """Texts that are let through, and the counts of the others."""
    counts = Counter()
    documents = [item if isinstance(item, Document) else Document("d", (item,)) for item in documents]
    with_split = ((document, None) for document in documents)
    settings = CorpusSettings(**settings)
    return [doc.sentences[0] for doc, _ in filter_documents(with_split, settings, counts, workers=workers)], +counts


def test_filters_keep_everything_by_default():
    assert kept(["a", "a", "", SENTENCE, SENTENCE]) == (["a", "a", "", SENTENCE, SENTENCE], {})


def test_length_filter_counts_short_and_long_documents_separately():
    texts = ["x" * length for length in (1, 9, 10, 20, 21, 30)]
    assert kept(texts, min_document_chars=10, max_document_chars=20) == (
        [texts[2], texts[3]],
        {"documents too short": 2, "documents too long": 2},
    )


def test_length_filter_counts_characters_of_all_lines():
    assert kept([Document("d", ("äö", "ü"))], min_document_chars=3)[0]
    assert not kept([Document("d", ("äö", "ü"))], min_document_chars=4)[0]


def test_length_filter_treats_all_parts_of_a_document_alike():
    parts = [Document("d", ("x" * 30,)), Document("d", ("x",), continues=True), Document("e", ("next",))]
    assert kept(parts, max_document_chars=20) == (["next"], {"documents too long": 2})
    assert kept(parts, min_document_chars=4) == (["x" * 30, "x", "next"], {})


def test_dedup_exact_keeps_the_first_copy():
    assert kept(["a", "b", "a", "a", "A"], dedup_exact=True) == (["a", "b", "A"], {"duplicate documents": 2})


@pytest.mark.parametrize("workers", [1, 2])
def test_dedup_minhash_keeps_the_first_copy_for_any_number_of_workers(workers):
    other = " ".join(reversed(SENTENCE.split()))
    texts = [SENTENCE, other, SENTENCE.upper() + "!", "", "...", "...", f"{SENTENCE} now", other]
    assert kept(texts, dedup_minhash_threshold=0.8, workers=workers) == (
        [SENTENCE, other, "", "...", "..."],
        {"near duplicate documents": 3},
    )


def test_filters_keep_the_given_split():
    documents = [(Document("d", (SENTENCE,)), "validation"), (Document("e", (SENTENCE + ".",)), None)]
    settings = CorpusSettings(dedup_minhash_threshold=0.9)
    assert list(filter_documents(documents, settings, Counter())) == documents[:1]


def test_wikitext_without_text_has_no_paragraphs():
    assert kept([], dedup_exact=True, dedup_minhash_threshold=0.8) == ([], {})
