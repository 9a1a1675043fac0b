"""The corpus directory: token ids with the boundaries of sentences and documents, memory-mapped.

docs/formats/corpus.md specifies the format. Sentence and document indices run through all shards of a split. Documents
never cross shards, so examples do not either.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from tokenize import TokenError
from typing import Any, Literal, Self, get_args

import numpy as np

from litebert.errors import CheckpointError, DataError
from litebert.files import path_of, sha256, write_json
from litebert.manifest import MANIFEST, read_manifest
from litebert.tokenization.tokenizer import Tokenizer

FORMAT_VERSION = 1
DESCRIPTION = "corpus.json"
WORD_STARTS = "word-starts.npy"
SHARD_RECORD = "shard.json"
TOKENIZER = "tokenizer"
MAX_OPEN_SHARDS = 256
"""Number of shards kept open; each uses three file descriptors, and many systems allow 1024 per process."""

Split = Literal["train", "validation"]
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
    """uint16 or uint32 [T]: the token ids of all sentences, concatenated."""
    sentences: np.ndarray
    """uint32 [N+1]: sentence i is tokens[sentences[i]:sentences[i + 1]]."""
    documents: np.ndarray
    """uint32 [M+1]: document j consists of the sentences documents[j] to documents[j + 1]."""

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Memory-map the arrays of a shard directory."""
        return cls(*(_load(directory / f"{name}.npy") for name in ("tokens", "sentences", "documents")))

    def save(self, directory: Path) -> None:
        """Write the arrays into an existing directory."""
        for name, array in self.__dict__.items():
            np.save(directory / f"{name}.npy", array)


@dataclass(frozen=True)
class Vocabulary:
    """Ids of the special tokens, and `word_starts`, bool [V]: which tokens start a word."""

    pad_id: int
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int
    word_starts: np.ndarray

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """The vocabulary of a tokenizer."""
        ids = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
        return cls(*ids, word_starts=tokenizer.word_starts)

    @property
    def size(self) -> int:
        """Number of token ids, V."""
        return len(self.word_starts)

    @cached_property
    def non_special_ids(self) -> np.ndarray:
        """The ids of all tokens that are not special, ascending."""
        special = [self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id]
        return np.setdiff1d(np.arange(self.size), special)


class Corpus:
    """One split of a corpus directory. Opening it reads and checks its small files; shards are mapped when used.

    Files of a shard are checked once, when they are used for the first time: their checksums, and that token ids are
    in the vocabulary. So the first pass over a corpus also hashes it: about 0.5 to 3 s per GB in each process.
    """

    def __init__(self, directory: Path, split: Split, description: dict[str, Any]) -> None:
        self.directory, self.split, self.description = directory, split, description
        self.entries = tuple(ShardEntry(**entry) for entry in description["splits"][split])
        self.first_sentences = np.cumsum([0, *(entry.sentences for entry in self.entries)])
        """Index of the first sentence of each shard, followed by the number of sentences."""
        self.first_documents = np.cumsum([0, *(entry.documents for entry in self.entries)])
        self.shard = lru_cache(maxsize=MAX_OPEN_SHARDS)(self._open_shard)
        self._shards_with_checked_tokens: set[int] = set()

    @classmethod
    def open(cls, directory: Path | str, split: Split = "train") -> Self:
        """The split of a corpus; DataError if there is none, it is damaged, of another version or without documents."""
        directory = path_of(directory)
        corpus = cls(directory, split, read_description(directory))
        if not corpus.entries:
            advice = {
                "train": "it is for evaluation; build another one with text besides the validation files",
                "validation": "build the corpus with more text, a larger validation_fraction or validation files "
                "(--validation)",
            }[split]
            raise DataError(f"{directory}: the {split} split has no documents; {advice}")
        return corpus

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling keeps the description only; the other process opens the files again."""
        return type(self), (self.directory, self.split, self.description)

    def select(self, shards: Sequence[int]) -> Self:
        """The same corpus with some of its shards; sentences and documents are counted from 0 again."""
        entries = self.description["splits"][self.split]
        splits = {**self.description["splits"], self.split: [entries[shard] for shard in shards]}
        return type(self)(self.directory, self.split, {**self.description, "splits": splits})

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
        """Hex digest of the tokens, the tokenizer and the split."""
        return f"{self.description['fingerprint']}-{self.split}"

    @property
    def tokenizer_fingerprint(self) -> str:
        """Hex digest of the tokenizer of the corpus."""
        return self.description["tokenizer_fingerprint"]

    @property
    def tokenizer_directory(self) -> Path:
        """Directory of the tokenizer of the corpus."""
        return self.directory / TOKENIZER

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Special ids and word starts of the tokenizer of the corpus."""
        return Vocabulary(**self.description["special_ids"], word_starts=_load(self.directory / WORD_STARTS))

    @cached_property
    def _checksums(self) -> dict[str, str]:
        """Relative path → SHA-256."""
        return _read_checksums(self.directory)

    def tokens(self, number: int) -> np.ndarray:
        """The token ids of a shard, after a check of the file."""
        tokens = self.shard(number).tokens
        if number not in self._shards_with_checked_tokens:
            name = f"{self.entries[number].path}/tokens.npy"
            check_token_ids(tokens, self.directory / name, vocab_size=self.vocabulary.size)
            self._check_file(name)
            self._shards_with_checked_tokens.add(number)
        return tokens

    def read(self, first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Token ids of the sentences `first` to `end` (exclusive) of one document, and the n+1 edges of them."""
        number = int(np.searchsorted(self.first_sentences, first, side="right")) - 1
        shard, base = self.shard(number), int(self.first_sentences[number])
        edges = shard.sentences[first - base : end - base + 1].astype(np.int64)
        return self.tokens(number)[edges[0] : edges[-1]], edges - edges[0]

    def sentences_of(self, document: int) -> tuple[int, int]:
        """Indices of the first sentence of a document and of the sentence after its last."""
        number = int(np.searchsorted(self.first_documents, document, side="right")) - 1
        index, base = document - self.first_documents[number], int(self.first_sentences[number])
        first, end = self.shard(number).documents[index : index + 2].tolist()
        return base + first, base + end

    def _open_shard(self, number: int) -> Shard:
        entry = self.entries[number]
        shard = Shard.open(self.directory / entry.path)
        found = (len(shard.documents) - 1, len(shard.sentences) - 1, len(shard.tokens))
        has_counts = found == (entry.documents, entry.sentences, entry.tokens)
        names = ["sentences.npy", "documents.npy", SHARD_RECORD, *([] if has_counts else ["tokens.npy"])]
        for name in (f"{entry.path}/{name}" for name in names):
            if name in self._checksums:
                self._check_file(name)
        if not has_counts:
            raise DataError(
                f"{self.directory / entry.path}: has {found} documents, sentences and tokens, {DESCRIPTION} "
                f"expects {(entry.documents, entry.sentences, entry.tokens)}; build the corpus again"
            )
        return shard

    def _check_file(self, name: str) -> None:
        _check_file(self.directory / name, self._checksums[name])


def read_description(directory: Path) -> dict[str, Any]:
    """The content of corpus.json, after a check of the format version and of all files outside the shards."""
    path = directory / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        version = description["format_version"]
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            f"{path}: missing, so this is no corpus directory; create one with `litebert corpus build`"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: damaged: expected the JSON description of a corpus; build the corpus again") from None
    if version != FORMAT_VERSION:
        raise DataError(f"{path}: found format version {version}, expected {FORMAT_VERSION}; build the corpus again")
    _check_index(directory, description)
    return description


def _check_index(directory: Path, description: dict[str, Any]) -> None:
    """Check all files outside the shards, and that the manifest lists the files of the shards."""
    checksums = _read_checksums(directory)
    _require_listed(directory, [DESCRIPTION, WORD_STARTS], checksums)
    _check_file(directory / DESCRIPTION, checksums[DESCRIPTION])
    shards = [entry["path"] for split in SPLITS for entry in description["splits"][split]]
    arrays = [f"{path}/{name}.npy" for path in shards for name in Shard.__dataclass_fields__]
    _require_listed(directory, arrays, checksums)
    for name in sorted(checksums.keys() - {*arrays, *(f"{path}/{SHARD_RECORD}" for path in shards)}):
        _check_file(directory / name, checksums[name])


def _require_listed(directory: Path, names: Sequence[str], checksums: dict[str, str]) -> None:
    if missing := sorted({*names} - checksums.keys()):
        raise DataError(
            f"{directory / MANIFEST}: damaged: does not list {missing[0]}; build the corpus again or copy it again"
        )


def _read_checksums(directory: Path) -> dict[str, str]:
    """Relative path → SHA-256, from the manifest of a corpus."""
    try:
        return read_manifest(directory)
    except FileNotFoundError:
        raise DataError(
            f"{directory / MANIFEST}: missing, so checksums cannot be verified; build the corpus again"
        ) from None
    except CheckpointError as error:
        raise DataError(str(error)) from None


def write_description(
    directory: Path, vocabulary: Vocabulary, entries: dict[Split, list[ShardEntry]], **more: Any
) -> None:
    """Write corpus.json and the word starts."""
    np.save(directory / WORD_STARTS, vocabulary.word_starts)
    special = {name: int(value) for name, value in vars(vocabulary).items() if name.endswith("_id")}
    splits = {split: [asdict(entry) for entry in entries[split]] for split in SPLITS}
    write_json(
        directory / DESCRIPTION, {"format_version": FORMAT_VERSION, **more, "special_ids": special, "splits": splits}
    )


def token_dtype(vocab_size: int) -> type[np.unsignedinteger]:
    """The smallest type that can hold every id."""
    return np.uint16 if vocab_size <= 2**16 else np.uint32


def _load(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path}: missing; build the corpus again") from None
    except (ValueError, EOFError, SyntaxError, TokenError, TypeError, OverflowError) as error:  # of a damaged header
        raise DataError(f"{path}: damaged ({error}); build the corpus again") from None


def _check_file(path: Path, expected: str) -> None:
    """Raise a DataError unless the SHA-256 of a file is `expected`.

    The checksum is computed once in a process, unless the size or the modification time of the file changes. It reads
    the whole file; hashing takes about 0.5 to 3 s per GB, depending on the processor.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise DataError(f"{path}: missing, but {MANIFEST} lists it; build the corpus again or copy it again") from None
    found = _cached_sha256(path, status.st_size, status.st_mtime_ns)
    if found != expected:
        raise DataError(
            f"{path}: damaged: SHA-256 is {found[:12]}…, {MANIFEST} says {expected[:12]}…; build the corpus again or "
            "copy it again"
        )


def check_token_ids(tokens: np.ndarray, path: Path, *, vocab_size: int) -> None:
    """Raise a DataError with the offset of the first token id that is not below `vocab_size`."""
    if len(tokens) and int(tokens.max()) >= vocab_size:
        offset = int(np.argmax(tokens >= vocab_size))
        raise DataError(
            f"{path}: token id {int(tokens[offset])} at offset {offset}, expected ids below {vocab_size}; "
            "build the corpus again or copy it again"
        )


@lru_cache(maxsize=2**20)
def _cached_sha256(path: Path, size: int, modified_ns: int) -> str:
    return sha256(path)
