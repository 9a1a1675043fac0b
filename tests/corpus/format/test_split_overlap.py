"""Documents that are in both splits are found, and similar ones, and no others."""

import logging
import re
from collections import Counter

import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.build.shard_writer import plan_shards
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.corpus.format.verification import find_split_overlap, verify_corpus
from litebert.corpus.readers.documents import Document, read_documents
from litebert.errors import ConfigError, DataError
from support.data.corpus_builders import prose

SETTINGS = CorpusSettings(sentences="line", validation_fraction=0, shard_bytes=2000)


def document(seed, *, sentences=12):
    return Document(f"document {seed}", tuple(prose(sentences, seed=seed)))


def changed(original, count):
    """A copy with `count` other sentences."""
    return Document(f"copy of {original.name}", (*original.sentences[:-count], *prose(count, seed=999)))


def build(tmp_path, tokenizer, train, validation, settings=SETTINGS):
    build_corpus(train, tokenizer, settings, tmp_path / "corpus", validation=validation)
    return [Corpus.open(tmp_path / "corpus", split) for split in ("train", "validation")]


def test_split_overlap_finds_equal_and_similar_documents(tmp_path, tokenizer):
    validation = [document(seed) for seed in range(10)]
    equal = Document("equal after normalisation", tuple(line.upper() for line in validation[3].sentences))
    train = [*(document(seed) for seed in range(20, 40)), equal, changed(validation[5], 1), changed(validation[6], 9)]
    overlap = find_split_overlap(*build(tmp_path, tokenizer, train, validation))
    assert overlap.equal == (20,)
    assert overlap.similar == (21,)


def test_split_overlap_of_unrelated_text_is_empty(corpus_directory):
    overlap = find_split_overlap(*(Corpus.open(corpus_directory, split) for split in ("train", "validation")))
    assert (overlap.equal, overlap.similar) == ((), ())


@pytest.mark.parametrize("block", [1, 7, 50])
def test_split_overlap_does_not_depend_on_the_block_size(tmp_path, tokenizer, monkeypatch, block):
    validation = [document(0, sentences=6)]
    monkeypatch.setattr("litebert.corpus.format.verification.BLOCK_TOKENS", block)
    corpora = build(tmp_path, tokenizer, [document(1), changed(validation[0], 1)], validation)
    assert find_split_overlap(*corpora).similar == (1,)


def test_build_corpus_warns_of_overlap_and_verify_refuses_equal_documents(tmp_path, tokenizer, caplog):
    validation = [document(seed) for seed in range(3)]
    train = [document(9), Document("upper case", tuple(line.upper() for line in validation[1].sentences))]
    with caplog.at_level(logging.WARNING):
        build(tmp_path, tokenizer, train, validation)
    assert "1 training documents are equal to validation documents" in caplog.text
    with pytest.raises(DataError, match=r"1 training documents are equal .*the first is training document 1"):
        verify_corpus(tmp_path / "corpus")


@pytest.mark.parametrize(
    ("threshold", "advice"),
    [(None, "again with dedup_minhash_threshold=0.8"), (0.8, "dedup_minhash_threshold kept them, .* remove them from")],
)
def test_advice_against_overlap_is_none_that_was_followed(tmp_path, tokenizer, caplog, threshold, advice):
    marked = Document("marks are no letters for the tokenizer", tuple(f"á{line}" for line in document(1).sentences))
    plain = Document("plain", tuple(f"a{line}" for line in document(1).sentences))
    build(tmp_path, tokenizer, [document(9), marked], [plain], SETTINGS.replace(dedup_minhash_threshold=threshold))
    assert re.search(f"so validation scores will be too high; .*{advice}", caplog.text)
    with pytest.raises(DataError, match=advice):
        verify_corpus(tmp_path / "corpus")


def test_verify_counts_similar_documents(tmp_path, tokenizer):
    validation = [document(0)]
    build(tmp_path, tokenizer, [document(9), changed(validation[0], 1)], validation)
    found = verify_corpus(tmp_path / "corpus")
    assert found.similar_documents == 1
    assert found.to_text().endswith("1 training documents are similar to the validation split")


def test_build_corpus_refuses_a_document_of_the_validation_files_in_the_training_text(tmp_path, tokenizer):
    both = document(3)
    with pytest.raises(DataError, match=r"document 3: the same document is in the validation files \(document 3\)"):
        build(tmp_path, tokenizer, [document(1), both], [both])


def test_dedup_exact_drops_validation_documents_from_the_training_text(tmp_path, tokenizer):
    both = document(3)
    settings = SETTINGS.replace(dedup_exact=True)
    train, validation = build(tmp_path, tokenizer, [document(1), both], [both], settings)
    assert (train.num_documents, validation.num_documents) == (1, 1)


@pytest.mark.parametrize("validation", ["a.txt", "text/a.txt", "text"])
def test_build_corpus_refuses_a_validation_file_that_is_also_a_training_file(tmp_path, tokenizer, validation):
    (tmp_path / "text").mkdir()
    (tmp_path / "text/a.txt").write_text("Bado kilu.")
    (tmp_path / "a.txt").symlink_to(tmp_path / "text/a.txt")
    with pytest.raises(ConfigError, match=r"a\.txt: is in the training text and in the validation files"):
        build_corpus(tmp_path / "text", tokenizer, SETTINGS, tmp_path / "corpus", validation=[tmp_path / validation])
    assert not (tmp_path / ".corpus.building").exists()


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_a_cut_document_are_in_one_split(tmp_path, tokenizer, seed):
    """Two documents that are cut into several parts each."""
    texts = ["\n".join(line.replace("a", vowel) for line in prose(300, seed=seed)) for vowel in ("a", "o")]
    (tmp_path / "train.txt").write_text("\n\n".join(texts))
    settings = SETTINGS.replace(validation_fraction=0.5)
    documents = list(read_documents([tmp_path / "train.txt"], settings, Counter()))
    tasks = list(plan_shards(((each, None) for each in documents), building=tmp_path, key="", settings=settings))
    splits: dict[int, set[str]] = {}
    for task in tasks:
        for lines in task.documents:
            number = next(number for number, text in enumerate(texts) if lines[0] in text.splitlines())
            splits.setdefault(number, set()).add(task.path.split("/")[0])
    assert len(documents) > 6
    assert [len(splits[number]) for number in range(2)] == [1, 1]
