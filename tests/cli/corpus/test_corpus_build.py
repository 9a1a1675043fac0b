"""`litebert corpus build` and `litebert corpus verify` on the command line."""

import json
import pickle

import pytest

from litebert.cli.main import main
from litebert.corpus.corpus_settings import CorpusSettings


@pytest.fixture
def words(made, tmp_path):
    text, tokenizer = str(made / "text.txt"), str(made / "tokenizer")
    return ["corpus", "build", text, "--tokenizer", tokenizer, "--shard-bytes", "4000", "--validation-fraction", "0.2"]


def test_corpus_build_reports_sizes_and_counts(words, tmp_path, capsys):
    assert main([*words, "--out", str(tmp_path / "corpus"), "--min-document-chars", "100"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{tmp_path / 'corpus'}: ")
    assert "MB of text in " in out
    assert "train: " in out
    assert "documents read: 60" in out


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_corpus_build_with_an_executor_gives_the_same_corpus(words, tmp_path, capsys):
    pytest.importorskip("datatrove", reason="the extra [datatrove] is not installed")
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    capsys.readouterr()
    options = ["--executor", "local", "--workers", "2", "--executor-options", "workers=1"]
    assert main([*words, "--out", str(tmp_path / "b"), *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["built"]
    assert (tmp_path / "a/SHA256SUMS").read_bytes() == (tmp_path / "b/SHA256SUMS").read_bytes()


def test_corpus_build_refuses_executor_options_without_an_executor(words, tmp_path, capsys):
    assert main([*words, "--out", str(tmp_path / "corpus"), "--executor-options", "partition=cpu"]) == 2
    assert "executor processes has no options" in capsys.readouterr().err


def test_corpus_verify_names_a_damaged_file(words, tmp_path, capsys):
    assert main([*words, "--out", str(tmp_path / "corpus")]) == 0
    assert main(["corpus", "verify", str(tmp_path / "corpus")]) == 0
    assert "verified: " in capsys.readouterr().out
    path = tmp_path / "corpus/train/00000/tokens.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert main(["corpus", "verify", str(tmp_path / "corpus")]) == 3
    assert f"{path}: damaged: SHA-256 is" in capsys.readouterr().err


def test_settings_of_the_command_line_are_pickled_as_those_of_the_library(monkeypatch):
    seen = []
    monkeypatch.setattr("litebert.commands.corpus.build.build", lambda *given, **_: seen.append(given[2]))
    monkeypatch.setattr("litebert.cli.corpus.corpus.print_result", lambda *_, **__: None)
    assert main(["corpus", "build", "a.txt", "--tokenizer", "t", "--out", "c", "--min-sentences", "2"]) == 0
    copied = pickle.loads(pickle.dumps(seen[0]))
    assert type(copied) is CorpusSettings
    assert copied == CorpusSettings(min_sentences=2)
