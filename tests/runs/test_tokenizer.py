"""Training a vocabulary and showing what it does to text."""

import pytest

from litebert.errors import ConfigError, DataError
from litebert.runs.tokenizer import TokenizerResult, encode, train
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.training import TokenizerSettings

from .texts import write_documents

SMALL = TokenizerSettings(vocab_size=50, character_coverage=1.0)


def test_a_tokenizer_directory_is_made_from_files(tmp_path):
    files = [write_documents(tmp_path / f"{n}.txt", documents=5, seed=n) for n in range(2)]
    result = train(files, SMALL, tmp_path / "tokenizer")
    assert result == TokenizerResult(tmp_path / "tokenizer", 50, documents=10, lines=80)
    assert result.to_text().endswith("tokenizer: 50 pieces from 80 lines of 10 documents")
    assert Tokenizer.load(tmp_path / "tokenizer").vocab_size == 50


def test_what_is_there_is_not_replaced(tmp_path):
    with pytest.raises(ConfigError, match="exists already"):
        train([write_documents(tmp_path / "a.txt", documents=5)], SMALL, tmp_path)


def test_files_without_text_are_refused_and_nothing_left(tmp_path):
    (tmp_path / "a.txt").write_text("\n\n")
    with pytest.raises(DataError, match="hold no words"):
        train([tmp_path / "a.txt"], SMALL, tmp_path / "tokenizer")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_offsets_slice_the_text_into_its_pieces(tmp_path):
    train([write_documents(tmp_path / "a.txt", documents=5)], SMALL, tmp_path / "t")
    text = "The Baker finds a red boat."
    (row,) = encode(tmp_path / "t", [text])
    assert len(row["ids"]) == len(row["pieces"]) == len(row["offsets"])
    slices = [text[start:end].lower().strip() for start, end in row["offsets"]]
    assert slices == [piece.replace("▁", "") for piece in row["pieces"]]
