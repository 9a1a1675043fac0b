"""Damaged shards are found when they are used for training."""

import shutil

import numpy as np
import pytest

from litebert.corpus.format import shards
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import DataError
from litebert.manifest import MANIFEST, write_manifest
from litebert.tokenization.tokenizer import Tokenizer
from support.data.damage import DAMAGES, damaged_files
from support.runs.full_mode import trials


@pytest.fixture
def copy(corpus_directory, tmp_path):
    return shutil.copytree(corpus_directory, tmp_path / "corpus")


def draw_epoch(directory):
    settings = SamplingSettings(max_length=32)
    return list(PretrainBatches(Corpus.open(directory), settings, batch_size=8, microbatch_size=8, seed=0).one_epoch())


def flip(path, position, bit):
    content = bytearray(path.read_bytes())
    content[position] ^= bit
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["tokens", "sentences", "documents"])
@pytest.mark.parametrize("bit", [1, 128])
def test_training_refuses_a_shard_with_a_flipped_bit_and_names_the_file(copy, name, bit):
    path = copy / f"train/00001/{name}.npy"
    flip(path, -1, bit)
    with pytest.raises(DataError, match=str(path)):
        draw_epoch(copy)


def read_as_in_training(directory):
    """Both splits, and the tokenizer for the model directory."""
    for split in ("train", "validation"):
        corpus = Corpus.open(directory, split)
        settings = SamplingSettings(max_length=32)
        list(PretrainBatches(corpus, settings, batch_size=8, microbatch_size=8, seed=0).one_epoch())
        Tokenizer.load(corpus.tokenizer_directory)


SHARDS = ["train/*/*", "validation/*/*"]
INDEX = ["corpus.json", "word-starts.npy", MANIFEST]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("patterns", [SHARDS, INDEX, ["tokenizer/*"]], ids=["shards", "index", "tokenizer"])
def test_training_refuses_any_damage_and_names_the_file(copy, patterns, damage):
    files = sorted(path for pattern in patterns for path in copy.glob(pattern))
    for path in damaged_files(files, damage, number=trials(10, 200)):
        with pytest.raises(DataError, match=path.name):
            read_as_in_training(copy)
    read_as_in_training(copy)


def test_training_refuses_token_ids_outside_the_vocabulary_and_names_the_offset(copy):
    path = copy / "train/00001/tokens.npy"
    tokens = np.load(path)
    tokens[5] = 60
    np.save(path, tokens)
    write_manifest(copy)
    with pytest.raises(DataError, match=r"tokens\.npy: token id 60 at offset 5, expected ids below 60"):
        draw_epoch(copy)


def test_checksums_are_computed_once_unless_a_file_changes(copy, monkeypatch):
    opened = Corpus.open(copy)
    hashed = []
    sha256 = shards.sha256
    monkeypatch.setattr(shards, "sha256", lambda path: hashed.append(path.name) or sha256(path))
    draw_epoch(copy)
    first = len(hashed)
    draw_epoch(copy)
    assert len(hashed) == first == 4 * len(opened.entries)
    flip(copy / "train/00000/tokens.npy", -1, 1)
    with pytest.raises(DataError, match=r"tokens\.npy"):
        draw_epoch(copy)
