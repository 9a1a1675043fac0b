"""A corpus made from written text with the tiny tokenizer of its own."""

import pytest

from litebert.corpus.build import build_corpus
from litebert.corpus.settings import CorpusSettings
from litebert.runs.tokenizer import train
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.training import TokenizerSettings

from .texts import write_documents


@pytest.fixture(scope="session")
def text_file(tmp_path_factory):
    return write_documents(tmp_path_factory.mktemp("text") / "text.txt", documents=80)


@pytest.fixture(scope="session")
def corpus_directory(text_file, tmp_path_factory):
    """80 documents of 8 sentences, some of them held out."""
    directory = tmp_path_factory.mktemp("made")
    train([text_file], TokenizerSettings(vocab_size=60, character_coverage=1.0), directory / "tokenizer")
    tokenizer = Tokenizer.load(directory / "tokenizer")
    build_corpus([text_file], tokenizer, CorpusSettings(held_out_fraction=0.2), directory / "corpus")
    return directory / "corpus"


@pytest.fixture(scope="session")
def second_corpus(corpus_directory, tmp_path_factory):
    """Another text under the same tokenizer."""
    directory = tmp_path_factory.mktemp("second")
    text = write_documents(directory / "text.txt", documents=20, seed=5)
    tokenizer = Tokenizer.load(corpus_directory / "tokenizer")
    build_corpus([text], tokenizer, CorpusSettings(held_out_fraction=0), directory / "corpus")
    return directory / "corpus"
