import unicodedata

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.dedup import near_duplicates
from litebert.corpus.dedup.near_duplicates import (
    HASHES,
    MIN_RECALL,
    NearDuplicateIndex,
    lsh_band_size,
    lsh_collision_probability,
    signature,
)
from litebert.randomness import rng_for
from support.data.corpus_builders import words
from support.data.shingles import changed, shingles
from support.models.tolerances import close_to


def random_signature(number: int) -> np.ndarray:
    return rng_for(number).integers(0, 2**32, HASHES, dtype=np.uint32)


def similar(original: np.ndarray, share: float, number: int) -> np.ndarray:
    """A signature that shares this part of its numbers with the original."""
    other = random_signature(number)
    other[rng_for(number, "kept").random(HASHES) < share] = 0
    return np.where(other == 0, original, other)


@pytest.fixture(params=[2**14, 7])
def block(request, monkeypatch):
    """With small blocks most documents are in the sorted arrays, with large ones they are all recent."""
    monkeypatch.setattr(near_duplicates, "BLOCK", request.param)


@pytest.mark.usefixtures("block")
def test_near_duplicate_index_finds_copies_only():
    index = NearDuplicateIndex(0.8)
    assert all(index.add_if_new(random_signature(number)) for number in range(100))
    assert not any(index.add_if_new(random_signature(number)) for number in range(100))
    assert index.documents == 100


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize(("share", "least", "most"), [(0.95, 0.99, 1), (0.65, 0, 0.01), (0.4, 0, 0)])
def test_near_duplicate_index_is_certain_far_from_the_threshold(share, least, most):
    index = NearDuplicateIndex(0.8)
    originals = [random_signature(number) for number in range(300)]
    assert all(index.add_if_new(original) for original in originals)
    copies = [similar(original, share, 1000 + number) for number, original in enumerate(originals)]
    found = np.mean([not index.add_if_new(copy) for copy in copies])
    assert least <= found <= most


def test_near_duplicate_index_limits_candidates_per_band(monkeypatch):
    monkeypatch.setattr(near_duplicates, "MAX_CANDIDATES", 2)
    index = NearDuplicateIndex(0.8)
    template = random_signature(0)
    assert all(index.add_if_new(similar(template, 0.5, number)) for number in range(1, 200))
    assert len(index._candidates(index._band_keys(template))) <= 2 * HASHES // lsh_band_size(0.8)


@pytest.mark.usefixtures("block")
def test_near_duplicate_index_limits_candidates_of_old_and_of_recent_documents(monkeypatch):
    """Many pages of one template have its keys in every band."""
    monkeypatch.setattr(near_duplicates, "MAX_CANDIDATES", 2)
    index = NearDuplicateIndex(0.8)
    keys = index._band_keys(random_signature(0))
    for number in range(1, 50):
        index._add(keys, random_signature(number).astype(np.uint8))
    assert len(index._candidates(keys)) <= 2 * 2


def test_similarity_of_unrelated_documents_is_zero_on_average():
    """One in 256 of the bytes that the index stores is equal by chance: one byte of two signatures."""
    index, numbers = NearDuplicateIndex(0.8), np.arange(HASHES, dtype=np.uint8)
    index._add(index._band_keys(random_signature(0)), numbers)
    without_equal_bytes = numbers + np.uint8(1)
    with_one = np.where(numbers == 0, numbers, without_equal_bytes)
    unrelated = [index._max_similarity(other, [0]) for other in (without_equal_bytes, with_one)]
    assert sum(unrelated) == close_to(0, torch.float64)
    assert index._max_similarity(numbers, [0]) == 1


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
def test_lsh_band_size_reaches_the_minimum_recall(threshold):
    rows = lsh_band_size(threshold)
    assert lsh_collision_probability(threshold, rows) >= MIN_RECALL
    assert rows == HASHES or lsh_collision_probability(threshold, rows + 1) < MIN_RECALL


def test_near_duplicate_index_separates_real_texts_by_jaccard_index():
    """Precision and recall on generated copies, against the exact share; between 0.7 and 0.9 either answer is right."""
    found: dict[bool, list[bool]] = {True: [], False: []}
    for number in range(300):
        rng = rng_for(number)
        original = changed(words(150, rng), 0.5, rng)
        copy = changed(original, rng.uniform(0, 0.12), rng)
        share = len(shingles(original) & shingles(copy)) / len(shingles(original) | shingles(copy))
        index = NearDuplicateIndex(0.8)
        index.add_if_new(signature(" ".join(original)))
        if not 0.7 < share < 0.9:
            found[share >= 0.9].append(not index.add_if_new(signature(" ".join(copy))))
    assert len(found[True]) > 30
    assert len(found[False]) > 50
    assert np.mean(found[True]) > 0.97
    assert np.mean(found[False]) < 0.02


def test_signature_estimates_the_jaccard_index():
    errors = []
    for number in range(200):
        rng = rng_for(number)
        first = changed(words(150, rng), 0.5, rng)
        second = changed(first, rng.uniform(0, 0.2), rng)
        common = len(shingles(first) & shingles(second)) / len(shingles(first) | shingles(second))
        errors.append(np.mean(signature(" ".join(first)) == signature(" ".join(second))) - common)
    assert abs(np.mean(errors)) < 3 * 0.044 / 200**0.5
    assert np.std(errors) < 0.05


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("One two, three!", "one  TWO\nthree"),
        ("今天天气很好我们去公园吧", "今天天气很好，我们去公园吧。"),
        ("สวัสดีครับ", "สวัสดีครับ!"),
        ("हिन्दी में लिखा", "हिन्दी  में, लिखा।"),
    ],
)
def test_signature_ignores_case_spaces_and_punctuation(first, second):
    assert np.array_equal(signature(first), signature(second))


@pytest.mark.parametrize("script", ["今天天气很好我们去公园吧然后回家吃饭睡觉", "กขคงจฉชซฌญฎฏฐฑฒณดตถท"])
def test_signature_of_scripts_without_spaces_uses_characters(script):
    share = np.mean(signature(script) == signature(script[:-1] + "x"))
    assert 0.6 < share < 1


@pytest.mark.parametrize(("first", "second"), [("दिन", "दीन"), ("ไม่", "ไม"), ("परदा", "परदे")])
def test_signature_reads_combining_marks(first, second):
    for form in ("NFC", "NFD"):
        one, other = (signature(unicodedata.normalize(form, word)) for word in (first, second))
        assert not np.array_equal(one, other)


@given(st.text(alphabet="aÉö한ガดี่ \u0301İſﬁＡ", max_size=50))
def test_signature_does_not_depend_on_the_unicode_form(text):
    one, *others = (signature(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD"))
    assert all(np.array_equal(one, other) for other in others)


def test_signature_of_short_texts_is_equal_only_for_equal_texts():
    assert np.array_equal(signature("a b"), signature("A b."))
    assert not np.any(signature("a b") == signature("a c"))


@pytest.mark.parametrize("text", ["", " ", "...", "😀", "_"])
def test_signature_of_text_without_words_is_none(text):
    assert signature(text) is None


@given(st.text(max_size=50))
def test_sentence_splitter_accepts_every_text(text):
    assert signature(text) is None or signature(text).shape == (HASHES,)


def test_signature_accepts_lone_surrogates():
    assert signature("a\ud800b c") is not None


def test_signature_of_a_long_text_hardly_depends_on_blocks(monkeypatch):
    text = " ".join(changed(words(3000, rng_for(1)), 1, rng_for(2)))
    whole = signature(text)
    monkeypatch.setattr(near_duplicates, "BLOCK_CHARS", 10_000)
    monkeypatch.setattr(near_duplicates, "BLOCK_SHINGLES", 100)
    assert np.mean(signature(text) == whole) > 0.97


def test_signature_is_the_same_on_every_machine():
    assert signature("the quick brown fox jumps over the lazy dog")[:3].tolist() == [990500973, 459965187, 118406560]
