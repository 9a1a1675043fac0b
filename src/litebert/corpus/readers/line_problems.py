"""Lines and rows that were repaired or left out: one warning for all files, an error where too many are damaged."""

import logging
from dataclasses import dataclass, field
from typing import Final

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.errors import DataError

logger = logging.getLogger(__name__)

REPAIRED: Final = "lines repaired"
SKIPPED: Final = "rows skipped"
FEW_DAMAGED_LINES: Final = 9
"""As many are repaired in any file."""
FEW_DAMAGED_SHARE: Final = 0.01
"""Share of damaged lines above which the files probably have another encoding."""
_ADVICE: Final = {
    REPAIRED: "; what cannot be decoded became U+FFFD: name the encoding of the files (--encoding), or convert them to "
    "UTF-8, for example by iconv"
}
"""What to do about a problem, by its name in the counts."""


@dataclass
class Occurrences:
    """How often something occurred, in how many files, and where first."""

    count: int = 0
    files: int = 0
    first: str = ""

    def record(self, where: str) -> None:
        """Count it once more in the same file."""
        self.add(Occurrences(1, 1 - self.files, where))

    def add(self, others: "Occurrences") -> None:
        """Add those of further files."""
        self.count += others.count
        self.files += others.files
        self.first = self.first or others.first


@dataclass
class LineProblems:
    """The problems of one file or of several."""

    lines: int = 0
    """Lines that were decoded."""
    damaged: Occurrences = field(default_factory=Occurrences)
    """Lines with bytes that the encoding does not have."""
    by_name: dict[str, Occurrences] = field(default_factory=dict)
    """Lines repaired and rows skipped."""

    def record(self, problem: str, where: str) -> None:
        """Count a line or row of one file."""
        self.by_name.setdefault(problem, Occurrences()).record(where)

    def add(self, others: "LineProblems") -> None:
        """Add those of further files."""
        self.lines += others.lines
        self.damaged.add(others.damaged)
        for name, occurrences in others.by_name.items():
            self.by_name.setdefault(name, Occurrences()).add(occurrences)

    def refuse_many_damaged(self, settings: CorpusSettings) -> None:
        """DataError for more damaged lines than `invalid_utf8: replace_few` repairs."""
        count = self.damaged.count
        if settings.invalid_utf8 == "replace_few" and count > max(FEW_DAMAGED_LINES, FEW_DAMAGED_SHARE * self.lines):
            raise DataError(
                f"{self.damaged.first}: {count:,} of {self.lines:,} lines, this one first, have bytes that are not "
                f"{settings.encoding.upper()}; name the encoding of the files, such as --encoding cp1252 "
                "(Western Europe), --encoding cp1251 (Cyrillic), --encoding gbk (Chinese) or --encoding shift_jis "
                "(Japanese), or convert them to UTF-8; --invalid-utf8 replace loses these characters"
            )

    def warn(self) -> None:
        """Log once for all files what was repaired and left out."""
        for name, found in self.by_name.items():
            files = "this file" if found.files == 1 else f"{found.files} files, first here"
            logger.warning("%s: %s (%d in %s)%s", found.first, name, found.count, files, _ADVICE.get(name, ""))
