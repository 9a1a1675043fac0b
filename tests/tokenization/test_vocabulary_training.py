import os
import signal
from collections import Counter
from threading import Event, current_thread, main_thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError, DataError
from litebert.randomness import rng_for
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import (
    TokenizerSettings,
    sample_lines,
    train_tokenizer,
    with_short_words,
)
from support.data.tokenizer_material import number_texts

SMALL = TokenizerSettings(vocab_size=60, character_coverage=1.0)


def test_trained_vocabulary_has_the_ids_of_google_research_albert(numbers):
    first = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "(", ")", '"', "-", ".", "–", "£", "€"]
    assert list(numbers.model.vocabulary[:13]) == first


def test_train_tokenizer_returns_what_it_saved(tmp_path):
    trained = train_tokenizer(number_texts(), SMALL, tmp_path / "new" / "tokenizer")
    assert trained.vocab_size == 60
    assert Tokenizer.load(tmp_path / "new" / "tokenizer").fingerprint == trained.fingerprint


def test_train_tokenizer_is_deterministic(tmp_path):
    settings = SMALL.replace(input_sentence_size=120)
    first, second = (train_tokenizer(number_texts(), settings, tmp_path / name) for name in "ab")
    assert first.files() == second.files()


def test_ctrl_c_ends_the_training_of_a_vocabulary(tmp_path, monkeypatch):
    """SentencePiece itself does not see it, as a thread that is not the main one does not."""
    released = Event()

    def train(**_):
        assert current_thread() is not main_thread()
        os.kill(os.getpid(), signal.SIGINT)
        released.wait()

    monkeypatch.setattr("sentencepiece.SentencePieceTrainer.train", train)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            train_tokenizer(number_texts(), SMALL, tmp_path / "tokenizer")
    finally:
        signal.signal(signal.SIGINT, before)
        released.set()
    assert not list(tmp_path.iterdir())


def test_train_tokenizer_samples_lines_by_its_seed(tmp_path):
    texts = [f"{text} {number}" for number, text in enumerate(number_texts() * 3)]
    settings = SMALL.replace(input_sentence_size=100)
    prints = {train_tokenizer(texts, settings.replace(seed=seed), tmp_path).fingerprint for seed in (1, 2)}
    assert len(prints) == 2


@given(st.integers(0, 30), st.integers(1, 10))
def test_sample_lines_has_the_size_and_distinct_lines(count, most):
    lines = [str(number) for number in range(count)]
    drawn = sample_lines(iter(lines), most, rng=rng_for(0))
    assert len(drawn) == min(count, most)
    assert set(drawn) <= set(lines)
    assert len(set(drawn)) == len(drawn)


def test_sample_lines_is_uniform():
    counts = Counter(line for seed in range(600) for line in sample_lines("abcdef", 2, rng=rng_for(seed)))
    assert all(150 < counts[line] < 250 for line in "abcdef")


def test_train_tokenizer_splits_texts_into_lines(tmp_path):
    together = train_tokenizer(["\n".join(number_texts())], SMALL, tmp_path / "a")
    assert together.fingerprint == train_tokenizer(number_texts(), SMALL, tmp_path / "b").fingerprint


def test_long_words_and_runs_of_equal_characters_are_cut_in_training(tmp_path):
    assert with_short_words("ab" * 1001 + " cd") == f"{'ab' * 500} {'ab' * 500} ab cd"
    assert with_short_words("x " + "-" * 100_000 + "y") == f"x {'-' * 100}y"
    words = " ".join(number_texts())
    assert with_short_words(words) == words
    rules = train_tokenizer([*number_texts(), "-" * 100_000], SMALL, tmp_path)
    assert rules.vocab_size == SMALL.vocab_size


def test_lines_with_the_reserved_character_of_sentencepiece_are_trained_on(tmp_path):
    trained = train_tokenizer([f"▅ {text}▅" for text in number_texts()], SMALL, tmp_path / "a")
    assert trained.fingerprint == train_tokenizer(number_texts(), SMALL, tmp_path / "b").fingerprint
    with pytest.raises(DataError, match="no words"):
        train_tokenizer(["▅▅"], SMALL, tmp_path / "c")


def test_train_tokenizer_accepts_long_lines(tmp_path):
    trained = train_tokenizer([" ".join(number_texts())], SMALL, tmp_path)
    assert trained.unk_id not in trained.encode(number_texts()[0])


@pytest.mark.parametrize(
    ("change", "piece"),
    [({"lowercase": False}, "I"), ({"keep_accents": True}, "é"), ({"user_defined_symbols": ("(", "street")}, "street")],
)
def test_tokenizer_settings_change_the_vocabulary(tmp_path, change, piece):
    assert piece not in train_tokenizer(number_texts(), SMALL, tmp_path).model.vocabulary
    assert piece in train_tokenizer(number_texts(), SMALL.replace(**change), tmp_path).model.vocabulary


def test_character_coverage_makes_the_rarest_characters_unknown(tmp_path):
    texts = [*number_texts(), "ж"]
    some = train_tokenizer(texts, SMALL.replace(character_coverage=0.999), tmp_path)
    assert some.unk_id in some.encode("ж")
    every = train_tokenizer(texts, SMALL, tmp_path)
    assert every.unk_id not in every.encode("ж")


def test_train_tokenizer_names_the_largest_possible_vocabulary(tmp_path):
    with pytest.raises(DataError, match=r"400 pieces requested, .* at most (\d+); give --vocab-size \1 or less"):
        train_tokenizer(number_texts(), SMALL.replace(vocab_size=400), tmp_path)


def test_train_tokenizer_refuses_too_small_a_vocabulary(tmp_path):
    with pytest.raises(ConfigError, match=r"20 pieces cannot hold the special pieces and the .* characters"):
        train_tokenizer(number_texts(), SMALL.replace(vocab_size=20), tmp_path)


@pytest.mark.parametrize("texts", [[], ["", " \n "]])
def test_train_tokenizer_refuses_texts_without_words(tmp_path, texts):
    with pytest.raises(DataError, match="no words"):
        train_tokenizer(texts, SMALL, tmp_path)


def test_train_tokenizer_raises_errors_of_the_text_iterator(tmp_path):
    def reader():
        yield "some text"
        raise DataError("book.txt:7: not UTF-8")

    with pytest.raises(DataError, match=r"^book\.txt:7: not UTF-8$"):
        train_tokenizer(reader(), SMALL, tmp_path)


def test_train_tokenizer_raises_other_errors_of_sentencepiece(tmp_path, monkeypatch):
    def refuse(**settings):
        raise RuntimeError("something new")

    monkeypatch.setattr("sentencepiece.SentencePieceTrainer.train", refuse)
    with pytest.raises(DataError, match="SentencePiece failed: something new"):
        train_tokenizer(number_texts(), SMALL, tmp_path)


@pytest.mark.parametrize(
    "values",
    [
        {"vocab_size": 5},
        {"character_coverage": 0.5},
        {"input_sentence_size": 0},
        {"seed": -1},
        {"user_defined_symbols": ["a", "a"]},
        {"user_defined_symbols": ["[MASK]"]},
        {"user_defined_symbols": ["½"]},
        {"user_defined_symbols": ["A"]},
        {"user_defined_symbols": [""]},
        {"user_defined_symbols": ["a b"]},
    ],
)
def test_tokenizer_settings_are_validated(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        TokenizerSettings.parse(values, where="recipe")
