import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.dedup import minhash
from litebert.corpus.dedup.minhash import HASHES, signature
from litebert.randomness import rng_for
from support.corpus_builders import words
from support.shingles import changed, shingles


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
    ],
)
def test_signature_ignores_case_spaces_and_punctuation(first, second):
    assert np.array_equal(signature(first), signature(second))


@pytest.mark.parametrize("script", ["今天天气很好我们去公园吧然后回家吃饭睡觉", "กขคงจฉชซฌญฎฏฐฑฒณดตถท"])
def test_signature_of_scripts_without_spaces_uses_characters(script):
    share = np.mean(signature(script) == signature(script[:-1] + "x"))
    assert 0.6 < share < 1


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
    monkeypatch.setattr(minhash, "BLOCK_CHARS", 10_000)
    monkeypatch.setattr(minhash, "BLOCK_SHINGLES", 100)
    assert np.mean(signature(text) == whole) > 0.97


def test_signature_is_the_same_on_every_machine():
    assert signature("the quick brown fox jumps over the lazy dog")[:3].tolist() == [990500973, 459965187, 118406560]
