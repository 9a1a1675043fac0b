"""Training a vocabulary, start to finish. Before: text files. After: a tokenizer directory for `corpus build`."""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.commands.result import Result
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import find_files, read_documents
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_report import VocabularyReport, report_on
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer

logger = logging.getLogger(__name__)

REPORT = "report.json"
"""Name of the report in the tokenizer directory."""
MOST_HELD_OUT = 10_000
"""Lines kept to measure the vocabulary; more would change no figure."""


@dataclass(frozen=True)
class TokenizerResult(Result):
    """What `tokenizer train` made."""

    tokenizer: Path
    vocab_size: int
    documents: int
    lines: int
    """Lines trained on."""
    held_out_lines: int
    """Lines that were kept out of training, on which the report counts."""
    report: VocabularyReport

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the figures that follow from the counts of the report."""
        values = super().to_dict()
        return {**values, "report": {**self.report.figures(), **values["report"]}}

    def to_text(self) -> str:
        """What was made, and how well it fits."""
        made = f"{self.vocab_size:,} pieces from {self.lines:,} lines of {self.documents:,} documents"
        if not self.held_out_lines:
            return f"{self.tokenizer}: {made}\nno report: no line was held out"
        measured = f"on {self.held_out_lines:,} lines that were held out:"
        return "\n".join([f"{self.tokenizer}: {made}", measured, *_indented(self.report.to_text())])


class _Lines:
    """The lines of some files to train on, and on the way those that are kept out."""

    def __init__(self, files: Sequence[str | Path], validation_fraction: float) -> None:
        self.files, self.validation_fraction = files, validation_fraction
        self.counts: Counter[str] = Counter()
        self.held_out: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for document in read_documents(find_files(self.files), CorpusSettings(), self.counts):
            for line in document.sentences:
                if len(self.held_out) < MOST_HELD_OUT and _draws_below(self.validation_fraction, line):
                    self.held_out.append(line)
                else:
                    self.counts["lines"] += 1
                    yield line


def train(
    files: Sequence[str | Path], settings: TokenizerSettings, out: Path, *, validation_fraction: float = 0.01
) -> TokenizerResult:
    """Learn a vocabulary from the lines of `files` (paths, globs, directories) and write the tokenizer directory.

    A share of the lines, chosen by a hash of their content so that equal lines stay together, is not trained on but
    measured: `report.json` in the directory holds what `to_dict` gives.
    """
    if out.exists():
        raise ConfigError(f"{out}: exists already; choose another --out or remove it")
    if not 0 <= validation_fraction < 1:
        raise ConfigError(f"validation_fraction: must be at least 0 and below 1, found {validation_fraction}")
    lines = _Lines(files, validation_fraction)
    tokenizer = train_tokenizer(lines, settings, out)
    result = TokenizerResult(
        tokenizer=out,
        vocab_size=tokenizer.vocab_size,
        documents=lines.counts["documents read"],
        lines=lines.counts["lines"],
        held_out_lines=len(lines.held_out),
        report=report_on(tokenizer, lines.held_out),
    )
    result.write(out / REPORT)
    return result


def encode(path: Path, texts: Sequence[str]) -> list[dict[str, Any]]:
    """For each text its pieces, ids and the characters each piece stands for."""
    tokenizer = Tokenizer.load(path)
    rows = []
    for text, (ids, offsets) in zip(texts, tokenizer.encode_batch_with_offsets(texts), strict=True):
        rows.append({"text": text, "pieces": tokenizer.pieces(text), "ids": ids, "offsets": [list(o) for o in offsets]})
    return rows


def _draws_below(share: float, line: str) -> bool:
    digest = hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
