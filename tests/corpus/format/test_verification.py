import json
import random
import shutil

import numpy as np
import pytest

from litebert.corpus.format.shards import Corpus
from litebert.corpus.format.verification import verify_corpus
from litebert.errors import DataError
from litebert.manifest import write_manifest
from support.data.damage import DAMAGES, damaged_files, delete, truncate
from support.runs.full_mode import trials


@pytest.fixture
def copy(corpus_directory, tmp_path):
    return shutil.copytree(corpus_directory, tmp_path / "corpus")


def test_verify_counts_an_intact_corpus(corpus_directory):
    found = verify_corpus(corpus_directory)
    splits = [Corpus.open(corpus_directory, split) for split in ("train", "validation")]
    assert found.tokens == sum(corpus.num_tokens for corpus in splits)
    assert found.documents == 60


@pytest.mark.parametrize("damage", DAMAGES)
def test_verify_finds_any_damage_and_names_the_file(copy, damage):
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    for path in damaged_files(files, damage, number=trials(50, 200)):
        with pytest.raises(DataError, match=path.name):
            verify_corpus(copy)
    verify_corpus(copy)


@pytest.mark.parametrize("name", ["tokens", "sentences", "documents"])
@pytest.mark.parametrize("damage", [truncate, delete])
def test_shard_with_a_damaged_file_is_refused_when_opened(copy, name, damage):
    path = copy / f"train/00000/{name}.npy"
    whole = path.read_bytes()
    for trial in range(20):
        damage(path, random.Random(trial))
        with pytest.raises(DataError, match="train/00000"):
            Corpus.open(copy).read(0, 1)
        path.write_bytes(whole)


def test_verify_finds_an_additional_file(copy):
    (copy / "train/00001/extra.npy").write_bytes(b"x")
    with pytest.raises(DataError, match="not listed in SHA256SUMS"):
        verify_corpus(copy)


def change_array(copy, name, change):
    path = copy / "train/00000" / f"{name}.npy"
    array = np.load(path)
    change(array)
    np.save(path, array)
    write_manifest(copy)


def test_verify_finds_a_token_id_outside_the_vocabulary(copy):
    change_array(copy, "tokens", lambda array: array.__setitem__(3, 60))
    with pytest.raises(DataError, match="token id 60 at offset 3, expected ids below 60"):
        verify_corpus(copy)


@pytest.mark.parametrize("name", ["sentences", "documents"])
@pytest.mark.parametrize("change", [lambda a: a.__setitem__(1, a[2]), lambda a: a.__setitem__(0, 1)])
def test_verify_finds_edges_that_do_not_increase(copy, name, change):
    change_array(copy, name, change)
    with pytest.raises(DataError, match=f"{name}.npy: edges must increase"):
        verify_corpus(copy)


def test_verify_finds_counts_that_differ(copy):
    path = copy / "corpus.json"
    description = json.loads(path.read_text())
    description["splits"]["train"][0]["tokens"] += 1
    path.write_text(json.dumps(description))
    write_manifest(copy)
    with pytest.raises(DataError, match=r"has .* documents, sentences and tokens"):
        verify_corpus(copy)
