import logging

import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.corpus.readers.documents import Document
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.tokenization.tokenizer import Tokenizer
from support.data.corpus_builders import prose
from support.data.directories import content

SETTINGS = CorpusSettings(sentences="line", validation_fraction=0.2, shard_bytes=2000)


@pytest.fixture
def text_file(tmp_path, documents):
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join("\n".join(document.sentences) for document in documents))
    return path


def test_corpus_has_every_document_in_one_split(corpus_directory, documents):
    splits = [Corpus.open(corpus_directory, split) for split in ("train", "validation")]
    assert sum(corpus.num_documents for corpus in splits) == len(documents)
    assert sum(corpus.num_sentences for corpus in splits) == sum(len(d.sentences) for d in documents)
    assert len(splits[0].entries) > 2


def test_corpus_tokens_decode_to_the_text(corpus_directory, documents, tokenizer):
    corpus = Corpus.open(corpus_directory)
    first = next(d for d in documents if len(d.sentences) > 2)
    texts = [tokenizer.decode(corpus.read(i, i + 1)[0].tolist()) for i in range(corpus.num_sentences)]
    assert first.sentences[1].lower() in texts


def test_corpus_contains_its_tokenizer(corpus_directory, tokenizer):
    assert Tokenizer.load(corpus_directory / "tokenizer").fingerprint == tokenizer.fingerprint


def test_build_corpus_report_counts(tmp_path, tokenizer, text_file):
    text_file.write_text(text_file.read_text() + "\n\n\u0301\n")
    report = build_corpus(text_file, tokenizer, SETTINGS, tmp_path / "corpus")
    assert report.counts == {
        "documents read": 61,
        "documents without tokens": 1,
        "files read": 1,
        "sentences without tokens": 1,
    }
    assert report.splits["train"].documents + report.splits["validation"].documents == 60
    assert report.splits["train"].tokens == Corpus.open(tmp_path / "corpus").num_tokens
    assert report.reused_shards == 0


def test_corpus_has_no_shards_without_documents(tmp_path, tokenizer, documents):
    """Each document has a shard of its own; nothing is left of that of the blank one."""
    blank = Document("blank", ("\u0301",))
    settings = CorpusSettings(sentences="line", validation_fraction=0, shard_bytes=1)
    build_corpus([documents[0], blank, documents[1]], tokenizer, settings, tmp_path / "corpus")
    assert [entry.path for entry in Corpus.open(tmp_path / "corpus").entries] == ["train/00000", "train/00002"]
    assert {path.name for path in (tmp_path / "corpus/train").iterdir()} == {"00000", "00002"}


def test_corpus_records_its_sources(tmp_path, tokenizer, text_file):
    build_corpus(text_file, tokenizer, SETTINGS, tmp_path / "corpus")
    assert Corpus.open(tmp_path / "corpus").description["sources"] == [str(text_file)]


@pytest.mark.parametrize("workers", [1, 2])
def test_build_corpus_bytes_do_not_depend_on_the_number_of_workers(
    tmp_path, tokenizer, documents, corpus_directory, workers
):
    build_corpus(iter(documents), tokenizer, SETTINGS, tmp_path / "corpus", workers=workers)
    assert content(tmp_path / "corpus") == content(corpus_directory)


def test_build_corpus_uses_validation_files_for_the_validation_split(tmp_path, tokenizer, text_file):
    (tmp_path / "validation.txt").write_text("Kilu bado.\n\nMera.")
    settings = SETTINGS.replace(validation_fraction=0)
    build_corpus([text_file], tokenizer, settings, tmp_path / "corpus", validation=[tmp_path / "validation.txt"])
    assert Corpus.open(tmp_path / "corpus", "validation").num_documents == 2
    assert Corpus.open(tmp_path / "corpus").num_documents == 60


def test_build_corpus_failure_leaves_no_corpus(tmp_path, tokenizer, text_file):
    (tmp_path / "z.txt").write_bytes(b"\0")
    with pytest.raises(DataError, match="NUL"):
        build_corpus(tmp_path, tokenizer, SETTINGS, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_build_corpus_after_a_failure_reuses_finished_shards(tmp_path, tokenizer, text_file, documents):
    (tmp_path / "z.txt").write_bytes(b"\0")
    with pytest.raises(DataError):
        build_corpus(tmp_path, tokenizer, SETTINGS, tmp_path / "corpus")
    (tmp_path / "z.txt").unlink()
    report = build_corpus(tmp_path, tokenizer, SETTINGS, tmp_path / "corpus")
    assert report.reused_shards > 2
    build_corpus(text_file, tokenizer, SETTINGS, tmp_path / "other")
    assert content(tmp_path / "corpus") == content(tmp_path / "other")


def test_build_corpus_removes_files_of_a_build_of_other_text(tmp_path, tokenizer, text_file):
    building = tmp_path / ".corpus.building"
    (building / "train/00099").mkdir(parents=True)
    (building / "train/.00001.77.tmp").mkdir()
    (building / "stray.txt").write_text("x")
    build_corpus(text_file, tokenizer, SETTINGS, tmp_path / "corpus")
    build_corpus(text_file, tokenizer, SETTINGS, tmp_path / "other")
    assert content(tmp_path / "corpus") == content(tmp_path / "other")


def test_corpus_fingerprint_depends_on_the_settings(tmp_path, tokenizer, documents, corpus_directory):
    build_corpus(documents, tokenizer, SETTINGS.replace(validation_fraction=0.1), tmp_path / "corpus")
    assert Corpus.open(tmp_path / "corpus").fingerprint != Corpus.open(corpus_directory).fingerprint


@pytest.mark.parametrize("source", [[], [Document("empty", ("\u0301",))]])
def test_build_corpus_refuses_files_without_text(tmp_path, tokenizer, source):
    with pytest.raises(DataError, match="the files have no text"):
        build_corpus(source, tokenizer, SETTINGS, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_build_corpus_refuses_an_existing_directory(tokenizer, documents, corpus_directory):
    with pytest.raises(ConfigError, match="exists already"):
        build_corpus(documents, tokenizer, SETTINGS, corpus_directory)


@pytest.mark.parametrize("workers", [0, 10**10])
def test_build_corpus_refuses_a_number_of_workers_out_of_range(tmp_path, tokenizer, documents, workers):
    with pytest.raises(ConfigError, match=rf"workers: expected 1 to \d+, 32 for each core, found {workers}"):
        build_corpus(documents, tokenizer, SETTINGS, tmp_path / "corpus", workers=workers)


def test_build_corpus_reports_a_full_disk(tmp_path, tokenizer, documents, monkeypatch):
    def no_space(*arguments, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("litebert.corpus.format.shards.np.save", no_space)
    with pytest.raises(CheckpointError, match="the disk is full"):
        build_corpus(documents, tokenizer, SETTINGS, tmp_path / "corpus")


def test_build_corpus_logs_progress(tmp_path, tokenizer, documents, caplog):
    with caplog.at_level(logging.INFO):
        build_corpus(documents, tokenizer, SETTINGS, tmp_path / "corpus")
    assert "corpus: 1 shards" in caplog.text


def test_build_corpus_cuts_documents_larger_than_a_shard(tmp_path, tokenizer):
    (tmp_path / "text.txt").write_text("\n".join(prose(200, seed=5)))
    settings = SETTINGS.replace(validation_fraction=0)
    report = build_corpus(tmp_path / "text.txt", tokenizer, settings, tmp_path / "corpus")
    assert report.counts["document parts"] == 2


def test_build_corpus_refuses_a_second_build_of_the_same_corpus(tmp_path, tokenizer, documents):
    tried = []

    def build_again(progress):
        tried.append(progress)
        with pytest.raises(ConfigError, match="another process is building this corpus"):
            build_corpus(documents, tokenizer, SETTINGS, tmp_path / "corpus")

    build_corpus(documents, tokenizer, SETTINGS, tmp_path / "corpus", progress=build_again)
    assert tried
    assert not (tmp_path / "corpus/build.lock").exists()
    build_corpus(documents, tokenizer, SETTINGS, tmp_path / "other")
    assert content(tmp_path / "corpus") == content(tmp_path / "other")
