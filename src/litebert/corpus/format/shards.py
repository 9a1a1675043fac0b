"""A corpus directory: token ids with the edges of sentences and documents, memory-mapped. Before: build. After: stream.

docs/corpus.md is the contract of the format. Sentences are numbered through all shards of a split; documents never
cross shards, so neither does an example.
"""

import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np

from litebert.corpus.format.vocabulary import Vocabulary
from litebert.errors import DataError
from litebert.files import write_json

FORMAT_VERSION = 1
DESCRIPTION = "corpus.json"
WORD_STARTS = "word-starts.npy"
TOKENIZER = "tokenizer"
OPEN_SHARDS = 256
"""Shards kept open; each holds two file descriptors, and many systems allow a process 1024."""

Split = Literal["train", "held_out"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True)
class ShardEntry:
    """One shard as corpus.json lists it."""

    path: str
    documents: int
    sentences: int
    tokens: int


@dataclass(frozen=True)
class Shard:
    """The three arrays of one shard."""

    tokens: np.ndarray
    """uint16 or uint32 of length T: the ids of all its sentences, one after the other."""
    sentences: np.ndarray
    """uint32 of length N+1: sentence i is tokens[sentences[i]:sentences[i + 1]]."""
    documents: np.ndarray
    """uint32 of length M+1: document j is the sentences documents[j] to documents[j + 1]."""

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Map the arrays; only what is read comes into memory."""
        return cls(*(_load(directory / f"{name}.npy") for name in ("tokens", "sentences", "documents")))

    def save(self, directory: Path) -> None:
        """Write the arrays into an existing directory."""
        for name, array in self.__dict__.items():
            np.save(directory / f"{name}.npy", array)


class Corpus:
    """One split of a corpus directory. Opening reads a small JSON file; reading maps the shards it touches."""

    def __init__(self, directory: Path, split: Split, description: dict[str, Any]) -> None:
        self.directory, self.split, self.description = directory, split, description
        self.entries = tuple(ShardEntry(**entry) for entry in description["splits"][split])
        self.first_sentences = np.cumsum([0, *(entry.sentences for entry in self.entries)])
        """Number of the first sentence of each shard, and at last the number of sentences."""
        self.first_documents = np.cumsum([0, *(entry.documents for entry in self.entries)])
        self.shard = lru_cache(maxsize=OPEN_SHARDS)(self._open_shard)

    @classmethod
    def open(cls, directory: Path | str, split: Split = "train") -> Self:
        """The split of the corpus at `directory`.

        Raises:
            DataError: No corpus there, one of another format version, or no documents in the split.
        """
        corpus = cls(Path(directory), split, read_description(Path(directory)))
        if not corpus.entries:
            raise DataError(
                f"{directory}: the {split} part holds no document; build the corpus with more text, "
                "a larger validation_fraction or files of its own for it"
            )
        return corpus

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the files anew instead of receiving their content."""
        return type(self).open, (self.directory, self.split)

    @property
    def num_documents(self) -> int:
        """Documents in this split."""
        return sum(entry.documents for entry in self.entries)

    @property
    def num_sentences(self) -> int:
        """Sentences in this split."""
        return int(self.first_sentences[-1])

    @property
    def num_tokens(self) -> int:
        """Tokens in this split."""
        return sum(entry.tokens for entry in self.entries)

    @property
    def fingerprint(self) -> str:
        """Hex digest that changes with the text, the tokenizer, the settings that shaped them, and the split."""
        return f"{self.description['fingerprint']}-{self.split}"

    @property
    def tokenizer_fingerprint(self) -> str:
        """Hex digest of the tokenizer that made the ids."""
        return self.description["tokenizer_fingerprint"]

    @property
    def tokenizer_directory(self) -> Path:
        """The tokenizer that made the ids."""
        return self.directory / TOKENIZER

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Special ids and word starts of the tokenizer that made the ids."""
        return Vocabulary(**self.description["special_ids"], word_starts=_load(self.directory / WORD_STARTS))

    def read(self, first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Token ids of the sentences `first` to `end` of one document, and the n+1 edges of the sentences in them."""
        number = int(np.searchsorted(self.first_sentences, first, side="right")) - 1
        shard, base = self.shard(number), int(self.first_sentences[number])
        edges = shard.sentences[first - base : end - base + 1].astype(np.int64)
        return shard.tokens[edges[0] : edges[-1]], edges - edges[0]

    def sentences_of(self, document: int) -> tuple[int, int]:
        """Numbers of the first sentence of a document and of the one behind its last."""
        number = int(np.searchsorted(self.first_documents, document, side="right")) - 1
        place, base = document - self.first_documents[number], int(self.first_sentences[number])
        first, end = self.shard(number).documents[place : place + 2].tolist()
        return base + first, base + end

    def _open_shard(self, number: int) -> Shard:
        entry = self.entries[number]
        shard = Shard.open(self.directory / entry.path)
        found = (len(shard.documents) - 1, len(shard.sentences) - 1, len(shard.tokens))
        if found != (entry.documents, entry.sentences, entry.tokens):
            raise DataError(
                f"{self.directory / entry.path}: holds {found} documents, sentences and tokens, {DESCRIPTION} says "
                f"{(entry.documents, entry.sentences, entry.tokens)}; build the corpus again"
            )
        return shard


def read_description(directory: Path) -> dict[str, Any]:
    """The content of corpus.json, of this format version."""
    path = directory / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        version = description["format_version"]
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path}: missing, so there is no corpus here; make one with `litebert corpus build`") from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: damaged: not the description of a corpus; build the corpus again") from None
    if version != FORMAT_VERSION:
        raise DataError(
            f"{path}: format version {version}, this program reads {FORMAT_VERSION}; build the corpus again"
        )
    return description


def write_description(
    directory: Path, vocabulary: Vocabulary, entries: dict[Split, list[ShardEntry]], **more: Any
) -> None:
    """Write corpus.json and the word starts: all that reading needs besides the shards."""
    np.save(directory / WORD_STARTS, vocabulary.word_starts)
    special = {name: int(value) for name, value in vars(vocabulary).items() if name.endswith("_id")}
    splits = {split: [asdict(entry) for entry in entries[split]] for split in SPLITS}
    write_json(
        directory / DESCRIPTION, {"format_version": FORMAT_VERSION, **more, "special_ids": special, "splits": splits}
    )


def token_dtype(vocab_size: int) -> type[np.unsignedinteger]:
    """The narrowest type that holds every id."""
    return np.uint16 if vocab_size <= 2**16 else np.uint32


def _load(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path}: missing; build the corpus again") from None
    except (ValueError, EOFError) as error:
        raise DataError(f"{path}: damaged ({error}); build the corpus again") from None
