"""Small corpora: all tokens of a sentence have the id of the sentence."""

from pathlib import Path

import numpy as np

from litebert.corpus.format.shards import Corpus, Shard, ShardEntry, Vocabulary, write_description
from litebert.manifest import write_manifest

FIRST_ID = 10
"""Id of the tokens of sentence 0; ids below are special or unused."""
VOCAB_SIZE = 5000


def vocabulary(*, word_starts: np.ndarray | None = None) -> Vocabulary:
    """Special ids 0 to 4; every token starts a word by default."""
    starts = np.ones(VOCAB_SIZE, dtype=bool) if word_starts is None else word_starts
    return Vocabulary(pad_id=0, unk_id=1, cls_id=2, sep_id=3, mask_id=4, word_starts=starts)


def make_corpus(
    directory: Path,
    shards: list[list[list[int]]],
    *,
    vocab: Vocabulary | None = None,
    fingerprint: str = "0f",
    tokenizer: str = "f0",
) -> Corpus:
    """A train split of shards, which are lists of documents, which are lists of the lengths of their sentences.

    All tokens of sentence k have the id FIRST_ID + k.
    """
    entries, sentence = [], 0
    for number, documents in enumerate(shards):
        lengths = np.array([length for document in documents for length in document])
        ids = np.repeat(FIRST_ID + sentence + np.arange(len(lengths)), lengths).astype(np.uint16)
        sizes = [len(document) for document in documents]
        path = directory / f"train/{number:05d}"
        path.mkdir(parents=True)
        Shard(ids, edges(lengths), edges(sizes)).save(path)
        entries.append(ShardEntry(f"train/{number:05d}", len(documents), len(lengths), len(ids)))
        sentence += len(lengths)
    splits = {"train": entries, "validation": []}
    write_description(
        directory, vocab or vocabulary(), splits, fingerprint=fingerprint, tokenizer_fingerprint=tokenizer
    )
    write_manifest(directory)
    return Corpus.open(directory)


def edges(lengths: np.ndarray | list[int]) -> np.ndarray:
    """0 and the running sum."""
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.uint32)


def words(count: int, rng: np.random.Generator) -> list[str]:
    """Pronounceable words that repeat, so that a tiny vocabulary fits them."""
    syllables = ["ba", "do", "ki", "lu", "me", "no", "ra", "ti"]
    return ["".join(rng.choice(syllables, rng.integers(1, 4))) for _ in range(count)]


def prose(sentences: int, *, seed: int) -> list[str]:
    """Sentences of three to nine words."""
    rng = np.random.default_rng(seed)
    return [" ".join(words(int(rng.integers(3, 10)), rng)).capitalize() + "." for _ in range(sentences)]
