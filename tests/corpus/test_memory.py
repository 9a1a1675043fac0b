"""The memory of a build does not grow with the text: neither with a line, nor a document, nor their number."""

import gc
import tracemalloc

import pytest

from litebert.corpus.build import shard_writer
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers import decompression

UNIT = 2**15
"""Bytes that a shard, a piece of a line and a chunk of sentences hold here."""


def peak(text, tokenizer, out) -> int:
    """Most bytes that Python and numpy held at any time of a build."""
    gc.collect()
    tracemalloc.start()
    build_corpus(text, tokenizer, CorpusSettings(shard_bytes=UNIT, validation_fraction=0), out)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.fixture(scope="module", autouse=True)
def _first_build(tokenizer, tmp_path_factory):
    """The first build of a process allocates what later ones have."""
    directory = tmp_path_factory.mktemp("first")
    (directory / "a.txt").write_text("ba do. Ki! ")
    peak(directory / "a.txt", tokenizer, directory / "corpus")


@pytest.mark.parametrize(
    "repeated",
    ["ba do. Ki! ", "bado" * 64, "Ba do ki lu me.\n", "Ba do ki lu me.\n\n"],
    ids=["one line", "one word", "one document", "many documents"],
)
def test_build_corpus_memory_does_not_grow_with_the_text(tmp_path, tokenizer, monkeypatch, repeated):
    monkeypatch.setattr(decompression, "MAX_PIECE_BYTES", UNIT)
    monkeypatch.setattr(shard_writer, "CHUNK_CHARS", UNIT)
    peaks = []
    for units in (4, 16):
        path = tmp_path / f"{units}.txt"
        path.write_text(repeated * (units * UNIT // len(repeated)))
        peaks.append(peak(path, tokenizer, tmp_path / f"corpus-{units}"))
    added = 12 * UNIT
    assert peaks[1] - peaks[0] < added / 4, "a build that held the text would grow by all of it, or more"
