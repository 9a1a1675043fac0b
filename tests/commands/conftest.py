"""A corpus made from written text with the tiny tokenizer of its own."""

import pytest

from litebert.commands.tokenizer import train
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings
from support.data.texts import write_documents


@pytest.fixture(scope="session")
def text_file(tmp_path_factory):
    return write_documents(tmp_path_factory.mktemp("text") / "text.txt", documents=80)


@pytest.fixture(scope="session")
def corpus_directory(text_file, tmp_path_factory):
    """80 documents of 8 sentences, some of them held out."""
    directory = tmp_path_factory.mktemp("made")
    train([text_file], TokenizerSettings(vocab_size=60, character_coverage=1.0), directory / "tokenizer")
    tokenizer = Tokenizer.load(directory / "tokenizer")
    build_corpus([text_file], tokenizer, CorpusSettings(validation_fraction=0.2), directory / "corpus")
    return directory / "corpus"


@pytest.fixture(scope="session")
def second_corpus(corpus_directory, tmp_path_factory):
    """Another text under the same tokenizer."""
    directory = tmp_path_factory.mktemp("second")
    text = write_documents(directory / "text.txt", documents=20, seed=5)
    tokenizer = Tokenizer.load(corpus_directory / "tokenizer")
    build_corpus([text], tokenizer, CorpusSettings(validation_fraction=0), directory / "corpus")
    return directory / "corpus"
