"""`tokenizer train` and `tokenizer encode`: train a vocabulary on text files; pieces and ids of texts."""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

from litebert.commands.result import Result
from litebert.corpus.corpus_settings import CorpusSettings, InvalidRows, InvalidUtf8
from litebert.corpus.readers.documents import find_files, read_documents
from litebert.corpus.readers.line_problems import REPAIRED, SKIPPED
from litebert.errors import ConfigError
from litebert.files import require_writable
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_report import VocabularyReport, report_on
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer

logger = logging.getLogger(__name__)

REPORT = "report.json"
"""Name of the report in the tokenizer directory."""
MAX_VALIDATION_LINES = 10_000
"""Maximum number of lines for the report; more would not change its figures."""


@dataclass(frozen=True)
class TokenizerResult(Result):
    """Result of `tokenizer train`."""

    tokenizer: Path
    vocab_size: int
    documents: int
    lines: int
    """Lines trained on."""
    validation_lines: int
    """Lines that were not used for training, but for the report."""
    report: VocabularyReport
    repaired_lines: int = 0
    """Lines whose bytes are not all of the encoding."""
    skipped_rows: int = 0
    """Rows without text."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the figures that are derived from the counts of the report."""
        values = super().to_dict()
        return {**values, "report": {**self.report.figures(), **values["report"]}}

    def to_text(self) -> str:
        """Sizes and report."""
        sizes = f"{self.vocab_size:,} pieces from {self.lines:,} lines of {self.documents:,} documents"
        sizes += f", {self.repaired_lines:,} lines repaired" if self.repaired_lines else ""
        sizes += f", {self.skipped_rows:,} rows skipped" if self.skipped_rows else ""
        if not self.validation_lines:
            return f"{self.tokenizer}: {sizes}\nno report, because there are no validation lines"
        heading = f"on {self.validation_lines:,} validation lines:"
        return "\n".join([f"{self.tokenizer}: {sizes}", heading, indent(self.report.to_text(), "  ")])


class _Lines:
    """Iterates over the training lines of files and collects the validation lines."""

    def __init__(self, files: Sequence[Path], settings: CorpusSettings, validation_fraction: float) -> None:
        self.files, self.settings, self.validation_fraction = files, settings, validation_fraction
        self.counts: Counter[str] = Counter()
        self.validation: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for document in read_documents(self.files, self.settings, self.counts):
            for line in document.sentences:
                if _hash_is_below(self.validation_fraction, line):
                    self.validation.extend([line][: MAX_VALIDATION_LINES - len(self.validation)])
                else:
                    self.counts["lines"] += 1
                    yield line


def train(
    files: Sequence[str | Path],
    settings: TokenizerSettings,
    out: Path,
    *,
    validation_fraction: float = 0.01,
    encoding: str = "utf-8",
    invalid_utf8: InvalidUtf8 = "replace_few",
    text_key: str = "text",
    invalid_rows: InvalidRows = "error",
) -> TokenizerResult:
    """Train a vocabulary on the lines of `files` (paths, globs, directories) and write the tokenizer directory.

    A share of the lines is used for the report instead of training. It is chosen by a hash of their content, so equal
    lines are on the same side. The result is also written to `report.json` in the directory. The last four arguments
    are those of `CorpusSettings`.
    """
    rows = {"text_key": text_key, "invalid_rows": invalid_rows}
    reading = CorpusSettings.parse({"encoding": encoding, "invalid_utf8": invalid_utf8, **rows}, where="text files")
    if out.exists():
        raise ConfigError(f"{out}: exists already; choose another --out or remove it")
    if not 0 <= validation_fraction < 1:
        raise ConfigError(f"validation_fraction: must be at least 0 and below 1, found {validation_fraction}")
    found = find_files(files)  # missing ones are an error before a folder is made
    require_writable(out)
    lines = _Lines(found, reading, validation_fraction)
    tokenizer = train_tokenizer(lines, settings, out)
    result = TokenizerResult(
        tokenizer=out,
        vocab_size=tokenizer.vocab_size,
        documents=lines.counts["documents read"],
        lines=lines.counts["lines"],
        validation_lines=len(lines.validation),
        report=report_on(tokenizer, lines.validation),
        repaired_lines=lines.counts[REPAIRED],
        skipped_rows=lines.counts[SKIPPED],
    )
    result.write(out / REPORT)
    return result


def encode(path: Path, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Pieces, ids and character offsets of each text."""
    tokenizer = Tokenizer.load(path)
    rows = []
    for text, (ids, offsets) in zip(texts, tokenizer.encode_batch_with_offsets(texts), strict=True):
        rows.append({"text": text, "pieces": tokenizer.pieces(text), "ids": ids, "offsets": [list(o) for o in offsets]})
    return rows


def _hash_is_below(share: float, line: str) -> bool:
    digest = hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64
