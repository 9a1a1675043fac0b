"""`corpus verify`: a complete check of a corpus directory."""

from dataclasses import dataclass
from pathlib import Path

from litebert.commands.result import Result
from litebert.corpus.format.verification import verify_corpus


@dataclass(frozen=True)
class VerifyResult(Result):
    """Size of a corpus that passed all checks."""

    corpus: Path
    files: int
    documents: int
    sentences: int
    tokens: int

    def to_text(self) -> str:
        """The sizes in one line."""
        return (
            f"{self.corpus}: verified: {self.files:,} files, {self.documents:,} documents, "
            f"{self.sentences:,} sentences, {self.tokens:,} tokens"
        )


def verify(corpus: Path) -> VerifyResult:
    """Check every file of a corpus; raise a DataError that names the first damaged one."""
    return VerifyResult(corpus, **vars(verify_corpus(corpus)))
