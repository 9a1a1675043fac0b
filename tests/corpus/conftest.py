"""A tiny tokenizer and a corpus for all tests of this package."""

from pathlib import Path

import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import Document
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer
from support.data.corpus_builders import prose


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory) -> Tokenizer:
    settings = TokenizerSettings(vocab_size=60, character_coverage=1.0)
    return train_tokenizer(prose(300, seed=1), settings, tmp_path_factory.mktemp("tokenizer") / "tokenizer")


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return [Document(f"document-{i}", tuple(prose(2 + i % 7, seed=100 + i))) for i in range(60)]


@pytest.fixture(scope="session")
def corpus_directory(tokenizer, documents, tmp_path_factory) -> Path:
    """60 documents in several shards of both splits; tests only read it."""
    out = tmp_path_factory.mktemp("corpora") / "corpus"
    settings = CorpusSettings(sentences="line", validation_fraction=0.2, shard_bytes=2000)
    build_corpus(documents, tokenizer, settings, out)
    return out
