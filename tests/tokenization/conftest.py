"""A tokenizer whose vocabulary has numbers with commas ("▁12,", "2,"), trained on generated text."""

import pytest

from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer
from support.data.tokenizer_material import RELEASED_VOCABULARY, number_texts


@pytest.fixture(scope="session")
def numbers_directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("numbers")
    train_tokenizer(number_texts(), TokenizerSettings(vocab_size=80, character_coverage=1.0), directory)
    return directory


@pytest.fixture(scope="session")
def numbers(numbers_directory) -> Tokenizer:
    return Tokenizer.load(numbers_directory)


@pytest.fixture(scope="session")
def rebuilt(numbers):
    """The same vocabulary with other settings."""

    def rebuild(**settings: bool) -> Tokenizer:
        return Tokenizer(SentencePieceModel(numbers.model.content, TextSettings(**settings), where="numbers"))

    return rebuild


@pytest.fixture(scope="session")
def released() -> Tokenizer:
    """The vocabulary of the released English models, if it is available."""
    if not RELEASED_VOCABULARY.is_file():
        pytest.skip("the released vocabulary is not here")
    return Tokenizer.load(RELEASED_VOCABULARY)
