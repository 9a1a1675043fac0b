"""Training a vocabulary and showing what it does to text."""

import json
from collections import Counter

import pytest

from litebert.commands import tokenizer as tokenizer_run
from litebert.commands.tokenizer import TokenizerResult, encode, train
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings
from support.data.texts import write_documents

SMALL = TokenizerSettings(vocab_size=50, character_coverage=1.0)


def test_tokenizer_train_writes_a_directory(tmp_path):
    files = [write_documents(tmp_path / f"{n}.txt", documents=5, seed=n) for n in range(2)]
    result = train(files, SMALL, tmp_path / "tokenizer", validation_fraction=0)
    assert (result.vocab_size, result.documents, result.lines, result.validation_lines) == (50, 10, 80, 0)
    assert "tokenizer: 50 pieces from 80 lines of 10 documents\nno report" in result.to_text()
    assert Tokenizer.load(tmp_path / "tokenizer").vocab_size == 50


def test_tokenizer_train_reports_on_validation_lines(tmp_path):
    text = write_documents(tmp_path / "a.txt", documents=20)
    marked = [line + " жж" if number % 2 else line for number, line in enumerate(text.read_text().splitlines()) if line]
    text.write_text("\n".join(marked))
    result = train([text], SMALL, tmp_path / "tokenizer", validation_fraction=0.3)
    assert result.lines + result.validation_lines == len(marked)
    assert 0 < result.validation_lines < result.lines
    again = Tokenizer.load(tmp_path / "tokenizer")
    assert result.report.pieces > 0
    assert result.report.vocab_size == again.vocab_size


def test_tokenizer_train_writes_the_report(tmp_path):
    result = train([write_documents(tmp_path / "a.txt", documents=20)], SMALL, tmp_path / "t", validation_fraction=0.2)
    report = json.loads((tmp_path / "t" / "report.json").read_text())
    assert report == result.to_dict()
    assert report["report"]["pieces_per_word"] == result.report.figures()["pieces_per_word"]
    assert TokenizerResult.read(tmp_path / "t" / "report.json") == result


@pytest.mark.parametrize("keep_accents", [False, True])
def test_tokenizer_train_reports_words_that_lose_marks(tmp_path, keep_accents):
    text = tmp_path / "a.txt"
    text.write_text("\n".join(f"Das Boot {number} ist schön, der Hund schläft schon." for number in range(100)))
    settings = SMALL.replace(keep_accents=keep_accents, vocab_size=45)
    result = train([text], settings, tmp_path / "t", validation_fraction=0.3)
    assert ("schön → schon" in result.to_text()) != keep_accents
    assert ("--keep-accents" in result.to_text()) != keep_accents
    assert result.report.words_without_marks == (0 if keep_accents else 2 * result.validation_lines)
    assert TokenizerResult.read(tmp_path / "t" / "report.json") == result


def test_tokenizer_train_puts_equal_lines_on_one_side(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(tokenizer_run, "train_tokenizer", lambda lines, *rest: seen.extend(lines) or 1 / 0)
    text = tmp_path / "a.txt"
    text.write_text("\n".join(f"line {number % 10}" for number in range(100)))
    with pytest.raises(ZeroDivisionError):
        train([text], SMALL, tmp_path / "t", validation_fraction=0.5)
    assert set(Counter(seen).values()) == {10}
    assert 0 < len(seen) < 100


def test_lines_beyond_the_maximum_of_the_validation_lines_are_not_trained_on(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(tokenizer_run, "train_tokenizer", lambda lines, *rest: seen.extend(lines) or 1 / 0)
    text = tmp_path / "a.txt"
    text.write_text("\n".join(f"line {number % 10}" for number in range(100)))
    trained = []
    for most in (10_000, 3):
        monkeypatch.setattr(tokenizer_run, "MAX_VALIDATION_LINES", most)
        with pytest.raises(ZeroDivisionError):
            train([text], SMALL, tmp_path / "t", validation_fraction=0.5)
        trained.append(sorted(seen))
        seen.clear()
    assert trained[0] == trained[1]


def test_tokenizer_train_reads_other_encodings_and_counts_repaired_lines(tmp_path):
    text = write_documents(tmp_path / "a.txt", documents=20).read_text() + "schön für Bären\n" * 10
    settings = SMALL.replace(keep_accents=True)
    (tmp_path / "a.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.txt:\d+: 10 of \d+ lines, this one first, have .* --encoding cp1252"):
        train([tmp_path / "a.txt"], settings, tmp_path / "t", validation_fraction=0)
    assert not (tmp_path / "t").exists()
    repaired = train([tmp_path / "a.txt"], settings, tmp_path / "repaired", invalid_utf8="replace")
    assert repaired.repaired_lines == 10
    assert "documents, 10 lines repaired\n" in repaired.to_text()
    assert TokenizerResult.read(tmp_path / "repaired" / "report.json") == repaired
    result = train([tmp_path / "a.txt"], settings, tmp_path / "t", encoding="latin-1")
    assert (result.repaired_lines, "repaired" in result.to_text()) == (0, False)
    (row,) = encode(tmp_path / "t", ["schön"])
    assert "<unk>" not in row["pieces"]
    with pytest.raises(ConfigError, match="unknown encoding"):
        train([tmp_path / "a.txt"], settings, tmp_path / "other", encoding="klingon")


def test_tokenizer_train_reads_another_key_and_skips_rows_without_text(tmp_path):
    lines = write_documents(tmp_path / "a.txt", documents=20).read_text().splitlines()
    rows = [json.dumps({"body": line}) for line in lines if line]
    (tmp_path / "a.jsonl").write_text("\n".join([*rows, "{}"]))
    with pytest.raises(DataError, match=r"a\.jsonl:\d+: expected text under 'body', found .* set --invalid-rows skip"):
        train([tmp_path / "a.jsonl"], SMALL, tmp_path / "t", text_key="body")
    result = train([tmp_path / "a.jsonl"], SMALL, tmp_path / "t", text_key="body", invalid_rows="skip")
    assert (result.documents, result.skipped_rows) == (len(rows), 1)
    assert ", 1 rows skipped\n" in result.to_text()


@pytest.mark.parametrize("fraction", [-0.1, 1.0])
def test_tokenizer_train_refuses_an_invalid_fraction(tmp_path, fraction):
    with pytest.raises(ConfigError, match="validation_fraction"):
        train([write_documents(tmp_path / "a.txt", documents=5)], SMALL, tmp_path / "t", validation_fraction=fraction)


def test_write_documents_does_not_replace_files(tmp_path):
    with pytest.raises(ConfigError, match="exists already"):
        train([write_documents(tmp_path / "a.txt", documents=5)], SMALL, tmp_path)


def test_tokenizer_train_refuses_files_without_text(tmp_path):
    (tmp_path / "a.txt").write_text("\n\n")
    with pytest.raises(DataError, match="have no words"):
        train([tmp_path / "a.txt"], SMALL, tmp_path / "tokenizer")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_tokenizer_encode_offsets_slice_the_text(tmp_path):
    train([write_documents(tmp_path / "a.txt", documents=5)], SMALL, tmp_path / "t")
    text = "The Baker finds a red boat."
    (row,) = encode(tmp_path / "t", [text])
    assert len(row["ids"]) == len(row["pieces"]) == len(row["offsets"])
    slices = [text[start:end].lower().strip() for start, end in row["offsets"]]
    assert slices == [piece.replace("▁", "") for piece in row["pieces"]]


def test_train_finds_a_place_that_cannot_be_written_before_it_trains(text_file, tmp_path, monkeypatch):
    monkeypatch.setattr("litebert.commands.tokenizer.train_tokenizer", lambda *_, **__: pytest.fail("trained"))
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="could not be written: a file of that name is in the way"):
        train([text_file], TokenizerSettings(), tmp_path / "file" / "out")
    with pytest.raises(DataError, match="no such file"):
        train([tmp_path / "absent.txt"], TokenizerSettings(), tmp_path / "new" / "folder" / "out")
    assert not (tmp_path / "new").exists()
