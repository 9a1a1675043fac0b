"""Words that lose combining marks, in several languages."""

from collections import Counter

import pytest

from litebert.tokenization.lost_marks import WordWithoutMarks, most_frequent_without_marks, words_that_lose_marks
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer

MARKED = {
    "schön": "schon",
    "Übel": "ubel",
    "ガギグ": "カキク",
    "हिन्दी": "हिनदी",
    "รุ่น": "รน",
    "mạ": "ma",
    "файл": "фаил",
}
UNMARKED = ["street", "हिन", "मा", "カキ", "나는", "中文", "½", "don´t", "ﬁne", "1️⃣", "ø"]


def trained(directory, vocab_size: int, **settings: bool) -> Tokenizer:
    settings = TokenizerSettings(vocab_size=vocab_size, character_coverage=1.0, user_defined_symbols=(), **settings)
    return train_tokenizer([" ".join([*MARKED, *MARKED.values(), *UNMARKED])] * 20, settings, directory)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A tokenizer that knows all the characters."""
    return trained(tmp_path_factory.mktemp("marks"), 53)


def test_words_that_lose_marks_are_those_with_combining_marks(tokenizer):
    assert words_that_lose_marks(tokenizer, [*UNMARKED, *MARKED]) == list(MARKED)


def test_no_word_loses_marks_where_accents_are_kept(tmp_path):
    assert words_that_lose_marks(trained(tmp_path, 60, keep_accents=True), MARKED) == []


@pytest.mark.parametrize("word", ["ガギグ😀", "😀schön", "हि😀न्दी"])
def test_an_unknown_character_does_not_hide_lost_marks_of_the_others(tokenizer, tmp_path, word):
    assert words_that_lose_marks(tokenizer, [word]) == [word]
    assert words_that_lose_marks(trained(tmp_path, 60, keep_accents=True), [word]) == []


def test_unknown_words_do_not_count_as_words_that_lose_marks(numbers, rebuilt):
    assert words_that_lose_marks(numbers, ["ガギグ"]) == []
    assert words_that_lose_marks(rebuilt(**TextSettings(keep_accents=True).to_dict()), ["ガギグ"]) == []


@pytest.mark.parametrize(("word", "left"), MARKED.items())
def test_what_is_left_of_a_word(tokenizer, word, left):
    (found,) = most_frequent_without_marks(tokenizer, Counter({f"({word},": 2}))
    assert found == WordWithoutMarks(word, 2, left)
    assert str(found) == f"{word} → {left} 2×"


def test_most_frequent_words_come_first_and_then_the_shortest(tokenizer):
    words = Counter({"schön": 1, "ö": 1, "Übel": 3, "Übel,": 3})
    assert [each.word for each in most_frequent_without_marks(tokenizer, words)] == ["Übel", "ö", "schön"]


def test_of_a_line_without_spaces_the_letters_are_listed(tokenizer):
    found = most_frequent_without_marks(tokenizer, Counter({"カガギガキ" * 10: 1, "รุ่น" * 15: 1}))
    assert [(each.word, each.left, each.occurrences) for each in found] == [
        ("ガ", "カ", 20),
        ("รุ่", "ร", 15),
        ("ギ", "キ", 10),
    ]
