"""Training a vocabulary, start to finish. Before: text files. After: a tokenizer directory for `corpus build`."""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.corpus.documents import find_files, read_documents
from litebert.corpus.settings import CorpusSettings
from litebert.errors import ConfigError
from litebert.runs.result import Result
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.training import TokenizerSettings, train_tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TokenizerResult(Result):
    """What `tokenizer train` made."""

    tokenizer: Path
    vocab_size: int
    documents: int
    lines: int

    def to_text(self) -> str:
        """One line for a person."""
        return f"{self.tokenizer}: {self.vocab_size:,} pieces from {self.lines:,} lines of {self.documents:,} documents"


def train(files: Sequence[str | Path], settings: TokenizerSettings, out: Path) -> TokenizerResult:
    """Learn a vocabulary from the lines of `files` (paths, globs, directories) and write the tokenizer directory."""
    if out.exists():
        raise ConfigError(f"{out}: exists already; choose another --out or remove it")
    counts: Counter[str] = Counter()
    tokenizer = train_tokenizer(_lines(files, counts), settings, out)
    return TokenizerResult(out, tokenizer.vocab_size, counts["documents read"], counts["lines"])


def encode(path: Path, texts: Sequence[str]) -> list[dict[str, Any]]:
    """For each text its pieces, ids and the characters each piece stands for."""
    tokenizer = Tokenizer.load(path)
    rows = []
    for text in texts:
        ids, offsets = tokenizer.encode_with_offsets(text)
        rows.append({"text": text, "pieces": tokenizer.pieces(text), "ids": ids, "offsets": [list(o) for o in offsets]})
    return rows


def _lines(files: Sequence[str | Path], counts: Counter[str]) -> Iterator[str]:
    for document in read_documents(find_files(files), CorpusSettings(), counts):
        counts["lines"] += len(document.sentences)
        yield from document.sentences
